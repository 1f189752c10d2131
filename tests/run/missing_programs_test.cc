// SPDX-License-Identifier: Apache-2.0
#include "run/missing_programs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace sbx {
namespace {

class MissingPrograms : public testing::Test {
 protected:
  std::vector<Denial> find(const std::string& command) const {
    Request request;
    request.command = command;
    return missing_programs(request, hidden_ + ":" + shown_, policy_, view_);
  }
  void SetUp() override {
    view_.hidden_path = {hidden_};
    view_.roots = {{{root_ + "/shown", NodeKind::kDirectory, 0, 0}, Access::kReadOnly, ""}};
  }
  Policy policy_;
  View view_;
  test::TempDir dir_;
  const std::string root_ = std::filesystem::canonical(dir_.path()).string();
  const std::string hidden_ = dir_.directory("hidden");
  const std::string shown_ = dir_.directory("shown");
};

TEST_F(MissingPrograms, AreNamedByTheirTargetWithWhatShowsThem) {
  dir_.file("hidden/tool", "#!/bin/sh\n", 0755);
  dir_.file("kit/real", "#!/bin/sh\n", 0755);
  ASSERT_EQ(symlink("../kit/real", (hidden_ + "/led").c_str()), 0);
  const std::vector<Denial> found = find("cd x && tool --flag; led | tool");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].layer, Refuser::kMount);
  EXPECT_EQ(found[0].operation, "exec");
  EXPECT_EQ(found[0].target, root_ + "/hidden/tool");
  EXPECT_EQ(found[0].grant,
            "filesystem.roots += [{\"path\": \"" + root_ + "/hidden\", \"access\": \"ro\"}]");
  EXPECT_EQ(found[1].target, root_ + "/kit/real");
  EXPECT_EQ(found[1].grant, "filesystem.roots += [{\"path\": \"" + root_ +
                                "/hidden\", \"access\": \"ro\"}, {\"path\": \"" + root_ +
                                "/kit\", \"access\": \"ro\"}]");
}

TEST_F(MissingPrograms, AreNotThoseThatTheCommandHad) {
  dir_.file("shown/there", "#!/bin/sh\n", 0755);
  dir_.file("hidden/echo", "#!/bin/sh\n", 0755);  // a builtin
  dir_.file("hidden/text", "no program\n", 0644);
  dir_.file("hidden/path", "#!/bin/sh\n", 0755);
  EXPECT_TRUE(find("there; echo x; text; ./path; $path; absent").empty());
}

TEST_F(MissingPrograms, AreNotThoseThatAnotherStoodInFor) {
  dir_.file("shown/both", "#!/bin/sh\n", 0755);
  dir_.file("hidden/both", "#!/bin/sh\n", 0755);
  EXPECT_TRUE(find("both").empty());  // the directory is named in the warnings
}

TEST_F(MissingPrograms, AreThoseInAShownDirectoryThatLeadToWhatIsNot) {
  dir_.file("kit/real", "#!/bin/sh\n", 0755);
  dir_.file("shown/own", "#!/bin/sh\n", 0755);
  ASSERT_EQ(symlink("../kit/real", (shown_ + "/led").c_str()), 0);
  ASSERT_EQ(symlink("own", (shown_ + "/near").c_str()), 0);
  view_.hidden_path.clear();
  const std::vector<Denial> found = find("led; near");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].target, root_ + "/kit/real");
  EXPECT_EQ(found[0].grant,
            "filesystem.roots += [{\"path\": \"" + root_ + "/kit\", \"access\": \"ro\"}]");
}

TEST_F(MissingPrograms, AreThoseThatTheCommandSaysItDidNotFind) {
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    dir_.file(std::string("hidden/") + name, "#!/bin/sh\n", 0755);
  }
  Request request;
  request.command = "make";
  const std::vector<Denial> found = missing_programs(
      request, hidden_ + ":" + shown_, policy_, view_,
      "make: a: No such file or directory\nsh: 1: b: not found\nx.sh: line 3: c: command not "
      "found\ncat: d: No such file or directory\nx: ../hidden/e: not found\nf: not found\n");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].target, root_ + "/hidden/a");
  EXPECT_EQ(found[1].target, root_ + "/hidden/b");
  EXPECT_EQ(found[2].target, root_ + "/hidden/c");
}

TEST_F(MissingPrograms, AreOfABaseThatShowsTheSystem) {
  dir_.file("hidden/tool", "#!/bin/sh\n", 0755);
  EXPECT_EQ(find("tool").size(), 1U);
  policy_.sandbox.filesystem.base = Base::kTools;
  EXPECT_TRUE(find("tool").empty());
}

}  // namespace
}  // namespace sbx
