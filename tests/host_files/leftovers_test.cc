// SPDX-License-Identifier: Apache-2.0
// What a run makes beside itself → removed at its end, by it or by its watchdog. Stubs and
// temporary directories only: the host's cgroups are left alone.
#include "host_files/leftovers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "host/protect.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

bool stands(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

unsigned mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0);
  return info.st_mode & 07777U;
}

bool vanishes(const std::string& path) {
  for (int i = 0; i < 1000 && stands(path); ++i) {
    const struct timespec pause { 0, 10'000'000 };
    ::nanosleep(&pause, nullptr);
  }
  return !stands(path);
}

TEST(Stubs, HoldThePlaceOfAMissingPathUntilTheyAreRemoved) {
  const test::TempDir dir;
  Stubs stubs;
  ASSERT_TRUE(stubs.make({dir.at("missing")}).ok());
  EXPECT_FALSE(stubs.empty());
  EXPECT_TRUE(is_stub(dir.at("missing")));
  EXPECT_EQ(mode_of(dir.at("missing")), kStubMode);
  stubs.remove();
  EXPECT_FALSE(stands(dir.at("missing")));
}

TEST(Stubs, LeaveAloneWhatStandsThereByNow) {
  const test::TempDir dir;
  dir.file("directory/file", "kept");
  dir.file("file", "kept");
  Stubs stubs;
  ASSERT_TRUE(stubs.make({dir.at("directory"), dir.at("file")}).ok());
  EXPECT_TRUE(stubs.empty());
  stubs.remove();
  EXPECT_EQ(test::slurp(dir.at("directory/file")), "kept");
  EXPECT_EQ(test::slurp(dir.at("file")), "kept");
}

TEST(Stubs, AreSharedByRunsAndRemovedByTheLast) {
  const test::TempDir dir;
  Stubs second;
  {
    Stubs first;
    ASSERT_TRUE(first.make({dir.at("missing")}).ok());
    ASSERT_TRUE(second.make({dir.at("missing")}).ok());
    first.remove();
    EXPECT_TRUE(is_stub(dir.at("missing"))) << "the second run has mounted over it";
  }
  second.remove();
  EXPECT_FALSE(stands(dir.at("missing")));
}

TEST(Stubs, StayWhenSomebodyPutSomethingIntoThem) {
  const test::TempDir dir;
  Stubs stubs;
  ASSERT_TRUE(stubs.make({dir.at("missing")}).ok());
  ASSERT_EQ(::chmod(dir.at("missing").c_str(), 0700), 0);
  dir.file("missing/file", "kept");
  stubs.remove();
  EXPECT_EQ(test::slurp(dir.at("missing/file")), "kept");
}

TEST(Leftovers, RemoveTheirStubsAlsoWhenALaterOneFails) {
  const test::TempDir dir;
  {
    Leftovers leftovers;
    const Status status = leftovers.make_stubs({dir.at("first"), dir.at("missing/second")});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kSetupFailed);
    EXPECT_EQ(status.error().where, dir.at("missing/second"));
    EXPECT_EQ(status.error().sys_errno, ENOENT);
  }
  EXPECT_FALSE(stands(dir.at("first")));
}

TEST(Leftovers, RemoveTheirDirectoryForTemporaryFilesWithWhatIsInIt) {
  const test::TempDir dir;
  std::string scratch;
  {
    Leftovers leftovers;
    const Result<std::string> made = leftovers.make_scratch(dir.path());
    ASSERT_TRUE(made.ok());
    scratch = made.value();
    for (const char* below : {"", "/tmp", "/home"}) EXPECT_EQ(mode_of(scratch + below), 0700U);
    const std::string name = scratch.substr(dir.path().size() + 1);
    dir.file(name + "/tmp/inner/file", "x");
    ASSERT_EQ(::chmod(dir.at(name + "/tmp/inner").c_str(), 0000), 0);
  }
  EXPECT_FALSE(stands(scratch));
}

TEST(Leftovers, SayThatNoDirectoryForTemporaryFilesCanBeMade) {
  const test::TempDir dir;
  Leftovers leftovers;
  const Result<std::string> made = leftovers.make_scratch(dir.at("missing"));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kSetupFailed);
  EXPECT_EQ(made.error().sys_errno, ENOENT);
  EXPECT_NE(made.error().hint.find("TMPDIR"), std::string::npos) << made.error().hint;
}

TEST(Leftovers, NeedNoWatchdogForNothing) {
  Leftovers leftovers;
  EXPECT_TRUE(leftovers.make_stubs({}).ok());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no process was started";
  EXPECT_EQ(errno, ECHILD);
}

TEST(Leftovers, AreGoneAfterAnOrdinaryEndWithAWatchdog) {
  const test::TempDir dir;
  std::string scratch;
  {
    Leftovers leftovers;
    ASSERT_TRUE(leftovers.make_stubs({dir.at("stub")}).ok());
    const Result<std::string> made = leftovers.make_scratch(dir.path());
    ASSERT_TRUE(made.ok());
    scratch = made.value();
  }
  EXPECT_FALSE(stands(dir.at("stub")));
  EXPECT_FALSE(stands(scratch));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "the watchdog was waited for";
}

// What a removed directory's last descriptor waits for is waited for by the watchdog.
TEST(Watchdog, HoldsWhatItWasHandedUntilItHasEnded) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const OwnedFd read_end(ends[0]);
  OwnedFd write_end(ends[1]);
  const auto is_closed = [&] {
    struct pollfd other {
      read_end.get(), 0, 0
    };
    return ::poll(&other, 1, 0) == 1 && (other.revents & POLLHUP) != 0;
  };
  {
    const test::TempDir dir;
    Watchdog watchdog;
    ASSERT_TRUE(watchdog.tell(Left::kStub, {dir.at("never-made")}).ok());
    watchdog.hand_over(write_end.get());
    write_end.reset();
    EXPECT_FALSE(is_closed());
    watchdog.dismiss();
  }
  EXPECT_TRUE(is_closed());
}

TEST(Leftovers, AreRemovedByTheWatchdogOfARunThatIsKilled) {
  const test::TempDir dir;
  const std::string base = dir.directory("base");
  const pid_t run = ::fork();
  ASSERT_GE(run, 0);
  if (run == 0) {
    Leftovers leftovers;
    const bool made = leftovers.make_stubs({dir.at("stub")}).ok() &&
                      leftovers.make_scratch(base).ok() && stands(dir.at("stub"));
    if (made) ::raise(SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(run, &status, 0), run);
  ASSERT_TRUE(WIFSIGNALED(status)) << "they could not be made";
  EXPECT_TRUE(vanishes(dir.at("stub")));
  // A directory that is empty can be removed: the scratch directory in it is gone.
  bool removed = false;
  for (int i = 0; i < 1000 && !removed; ++i) {
    removed = ::rmdir(base.c_str()) == 0;
    const struct timespec pause { 0, 10'000'000 };
    if (!removed) ::nanosleep(&pause, nullptr);
  }
  EXPECT_TRUE(removed);
}

pid_t only_child() {
  const std::string pid = std::to_string(::getpid());
  const std::string text = test::slurp("/proc/" + pid + "/task/" + pid + "/children");
  EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 1) << text;
  return text.empty() ? -1 : std::stoi(text);
}

TEST(Watchdog, IsOneProcessForAllOfThem) {
  const test::TempDir dir;
  Watchdog first;
  ASSERT_TRUE(first.tell(Left::kStub, {dir.at("first")}).ok());
  const pid_t pid = only_child();
  {
    Watchdog second;
    ASSERT_TRUE(second.tell(Left::kStub, {dir.at("second")}).ok());
    EXPECT_EQ(only_child(), pid);
    second.dismiss();
  }
  EXPECT_EQ(only_child(), pid);
  first.dismiss();
}

TEST(Watchdog, OfWhichSomeAreDismissedRemovesWhatTheOthersWereTold) {
  const test::TempDir dir;
  for (const char* name : {"1", "2", "3"}) ASSERT_EQ(::mkdir(dir.at(name).c_str(), 0700), 0);
  const pid_t run = ::fork();
  ASSERT_GE(run, 0);
  if (run == 0) {
    Watchdog dogs[4];
    const bool told = dogs[0].tell(Left::kTree, {dir.at("0")}).ok() &&
                      dogs[1].tell(Left::kTree, {dir.at("1")}).ok() &&
                      dogs[2].tell(Left::kTree, {dir.at("2")}).ok();
    dogs[1].dismiss();  // its place is taken anew
    if (told && dogs[3].tell(Left::kTree, {dir.at("3")}).ok()) ::raise(SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(run, &status, 0), run);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(vanishes(dir.at("2")));
  EXPECT_TRUE(vanishes(dir.at("3")));
  EXPECT_TRUE(stands(dir.at("1"))) << "it was dismissed";
}

TEST(Watchdog, ThatIsNotDismissedDoesItsWorkWhenTheOthersHaveGone) {
  const test::TempDir dir;
  ASSERT_EQ(::mkdir(dir.at("tree").c_str(), 0700), 0);
  {
    Watchdog other;
    ASSERT_TRUE(other.tell(Left::kTree, {dir.at("never-made")}).ok());
    {
      Watchdog left;
      ASSERT_TRUE(left.tell(Left::kTree, {dir.at("tree")}).ok());
    }
    EXPECT_TRUE(stands(dir.at("tree")));
    other.dismiss();
  }
  EXPECT_FALSE(stands(dir.at("tree"))) << "it was waited for";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Watchdog, ThatWasKilledIsStartedAnew) {
  const test::TempDir dir;
  Watchdog first;
  ASSERT_TRUE(first.tell(Left::kStub, {dir.at("first")}).ok());
  ASSERT_EQ(::kill(only_child(), SIGKILL), 0);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(first.tell(Left::kStub, {dir.at("first")}).ok());
  Watchdog second;
  const Status told = second.tell(Left::kStub, {dir.at("second")});
  ASSERT_TRUE(told.ok()) << told.error().message;
  first.dismiss();
  EXPECT_TRUE(second.tell(Left::kStub, {dir.at("second")}).ok());
  second.dismiss();
}

}  // namespace
}  // namespace sbx
