// SPDX-License-Identifier: Apache-2.0
// Where denied programs are looked for: where the command could find them, and nowhere else.
#include "host/denied.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace sbx {
namespace {

class Denied : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/sbx-denied-test-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    directory_ = path;
    std::ofstream(directory_ + "/sudo") << "x";
    policy_.sandbox.filesystem.base = Base::kSystem;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  View look() const {
    View view;
    EXPECT_TRUE(find_denied_programs(policy_, directory_, nullptr, view).ok());
    return view;
  }
  bool holds(const View& view, const std::string& name) const {
    return std::any_of(view.denied.begin(), view.denied.end(), [&](const Node& node) {
      return node.path == directory_ + "/" + name && node.kind == NodeKind::kFile;
    });
  }
  bool is_found() const { return holds(look(), "sudo"); }
  void show(Access access) { policy_.sandbox.filesystem.roots = {{directory_, access, false, ""}}; }

  std::string directory_;
  Policy policy_;
};

TEST_F(Denied, IsFoundInADirectoryThatIsShown) {
  show(Access::kReadOnly);
  EXPECT_TRUE(is_found());
  policy_.sandbox.filesystem.roots.clear();
  policy_.sandbox.filesystem.base = Base::kHost;
  EXPECT_TRUE(is_found());
}

TEST_F(Denied, IsNotLookedForInAHiddenOne) {
  EXPECT_FALSE(is_found());
  show(Access::kNone);
  EXPECT_FALSE(is_found());
}

TEST_F(Denied, IsLeftAloneInAWritableOne) {
  show(Access::kReadWrite);
  EXPECT_FALSE(is_found());
}

// A small directory is listed; in a large one each name is looked up.
TEST_F(Denied, IsFoundAmongFewAndAmongMany) {
  show(Access::kReadOnly);
  EXPECT_TRUE(is_found());
  EXPECT_FALSE(holds(look(), "ls"));
  for (int i = 0; i < 400; ++i) {
    std::ofstream(directory_ + "/a-program-with-a-long-name-" + std::to_string(i)) << "x";
  }
  EXPECT_TRUE(is_found());
}

TEST_F(Denied, IsFoundWhereProgramsMayBeRunButNotListed) {
  if (geteuid() == 0) GTEST_SKIP() << "root may list every directory";
  show(Access::kReadOnly);
  std::filesystem::permissions(directory_, std::filesystem::perms(0311));
  EXPECT_TRUE(is_found());
  std::filesystem::permissions(directory_, std::filesystem::perms(0700));
}

}  // namespace
}  // namespace sbx
