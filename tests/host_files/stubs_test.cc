// SPDX-License-Identifier: Apache-2.0
// Places held for paths that are missing: made, shared, removed by the last.
#include "host_files/stubs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "host/protect.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

class StubsTest : public testing::Test {
 protected:
  test::TempDir directory_;
  const std::string path_ = directory_.at("held");
};

TEST_F(StubsTest, AMissingPathIsHeldByAStubUntilItIsRemoved) {
  Stubs stubs;
  EXPECT_TRUE(stubs.empty());
  ASSERT_TRUE(stubs.make({path_}).ok());
  EXPECT_FALSE(stubs.empty());
  EXPECT_TRUE(is_stub(path_));
  stubs.remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StubsTest, OnlyTheLastOfTwoThatShareOneRemovesIt) {
  auto first = std::make_unique<Stubs>();
  Stubs second;
  ASSERT_TRUE(first->make({path_}).ok());
  ASSERT_TRUE(second.make({path_}).ok());
  first->remove();
  EXPECT_TRUE(is_stub(path_));
  first.reset();
  second.remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StubsTest, IsHeldByEachOfTwoThatComeAndGo) {
  // How often one of them had none, though it was told so.
  const auto come_and_go = [&] {
    int missing = 0;
    for (int i = 0; i < 10000; ++i) {
      Stubs stubs;
      missing += stubs.make({path_}).ok() && is_stub(path_) ? 0 : 1;
      stubs.remove();
    }
    return missing;
  };
  const pid_t other = fork();
  if (other == 0) _exit(come_and_go() == 0 ? 0 : 1);
  EXPECT_EQ(come_and_go(), 0);
  int status = 0;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

TEST_F(StubsTest, RemovesNoneThatAnotherHasMadeSince) {
  Stubs first;
  ASSERT_TRUE(first.make({path_}).ok());
  first.remove();
  Stubs second;
  ASSERT_TRUE(second.make({path_}).ok());
  first.remove();
  EXPECT_TRUE(is_stub(path_));
  second.remove();
}

TEST_F(StubsTest, WhatStandsThereByNowIsLeftAlone) {
  const std::string file = directory_.file("file", "text");
  const std::string full = directory_.directory("full/of/things");
  Stubs stubs;
  ASSERT_TRUE(stubs.make({file, directory_.at("full")}).ok());
  EXPECT_TRUE(stubs.empty());
  stubs.remove();
  EXPECT_EQ(test::slurp(file), "text");
  EXPECT_TRUE(std::filesystem::exists(full));
}

TEST_F(StubsTest, WhatSomebodyPutIntoAStubStays) {
  Stubs stubs;
  ASSERT_TRUE(stubs.make({path_}).ok());
  ASSERT_EQ(chmod(path_.c_str(), 0755), 0);
  directory_.directory("held/theirs");
  stubs.remove();
  EXPECT_TRUE(std::filesystem::exists(directory_.at("held/theirs")));
}

TEST_F(StubsTest, WhatTheOwnersOwnProgramsPutIntoOneMakesItTheirs) {
  Stubs stubs;
  ASSERT_TRUE(stubs.make({path_}).ok());
  directory_.directory("held/theirs");
  EXPECT_FALSE(is_stub(path_));
  const mode_t mask = umask(027);
  stubs.remove();
  umask(mask);
  struct stat info {};
  ASSERT_EQ(lstat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 01777U, 0750U);
  EXPECT_TRUE(std::filesystem::exists(directory_.at("held/theirs")));
}

TEST_F(StubsTest, OneOfAnOlderReleaseOrWithLessForOthersIsOneToo) {
  for (const mode_t mode : {01500, 01700}) {
    ASSERT_EQ(mkdir(path_.c_str(), mode), 0);
    EXPECT_TRUE(is_stub(path_)) << mode;
    Stubs::remove_left({path_});
    EXPECT_FALSE(std::filesystem::exists(path_)) << mode;
  }
  for (const mode_t mode : {0755, 01777, 01600}) {
    ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_FALSE(is_stub(path_)) << mode;
    ASSERT_EQ(rmdir(path_.c_str()), 0);
  }
}

TEST_F(StubsTest, AFailureNamesThePathAndTheOnesBeforeItCanStillBeRemoved) {
  Stubs stubs;
  const Status made = stubs.make({path_, directory_.at("no/such/parent")});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kSetupFailed);
  EXPECT_EQ(made.error().where, directory_.at("no/such/parent"));
  stubs.remove();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StubsTest, WhatAProcessThatIsGoneHeldIsRemovedUnlessAnotherHoldsIt) {
  const std::string other = directory_.at("other");
  Stubs held;
  {
    Stubs gone;
    ASSERT_TRUE(gone.make({path_, other}).ok());
    ASSERT_TRUE(held.make({other}).ok());
  }
  Stubs::remove_left({path_, other, directory_.file("file", "text")});
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(is_stub(other));
  EXPECT_TRUE(std::filesystem::exists(directory_.at("file")));
  held.remove();
}

// Another run may have write access to the directory that holds one.
TEST_F(StubsTest, OneThatWasMovedIsRemovedWhereItIsAndNothingElseIs) {
  for (const bool by_symlink : {true, false}) {
    directory_.directory("sub");
    directory_.directory("elsewhere/held");
    Stubs stubs;
    ASSERT_TRUE(stubs.make({directory_.at("sub/held")}).ok());
    std::filesystem::rename(directory_.at("sub"), directory_.at("moved"));
    if (by_symlink) {
      directory_.symlink("sub", "elsewhere");
    } else {
      directory_.directory("sub/held");
    }
    EXPECT_EQ(stubs.remove().size(), 1U);
    EXPECT_TRUE(std::filesystem::is_empty(directory_.at("moved")));
    EXPECT_TRUE(std::filesystem::exists(directory_.at("sub/held")));
    std::filesystem::remove_all(directory_.at("sub"));
    std::filesystem::remove_all(directory_.at("moved"));
  }
}

TEST_F(StubsTest, NoneIsMadeOrRemovedThroughASymlink) {
  directory_.directory("elsewhere");
  directory_.symlink("sub", "elsewhere");
  Stubs stubs;
  const Status made = stubs.make({directory_.at("sub/held")});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().sys_errno, ELOOP);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.at("elsewhere")));
  // One of another run, whose own process is gone.
  ASSERT_TRUE(Stubs().make({directory_.at("elsewhere/held")}).ok());
  Stubs::remove_left({directory_.at("sub/held")});
  EXPECT_TRUE(is_stub(directory_.at("elsewhere/held")));
  // What is not the run's own is not taken for what holds the place.
  ASSERT_FALSE(stubs.make({directory_.at("sub/held")}).ok());
}

}  // namespace
}  // namespace sbx
