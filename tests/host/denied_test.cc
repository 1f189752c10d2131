// SPDX-License-Identifier: Apache-2.0
// Where denied programs are looked for: where the command could find them, and nowhere else.
#include "host/denied.h"

#include <gtest/gtest.h>

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
    policy_.profile.filesystem.base = Base::kSystem;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  bool is_found() const {
    const std::vector<Node> found = find_denied_programs(policy_, directory_);
    return std::any_of(found.begin(), found.end(), [&](const Node& node) {
      return node.path == directory_ + "/sudo" && node.kind == NodeKind::kFile;
    });
  }
  void show(Access access) { policy_.profile.filesystem.roots = {{directory_, access, false, ""}}; }

  std::string directory_;
  Policy policy_;
};

TEST_F(Denied, IsFoundInADirectoryThatIsShown) {
  show(Access::kReadOnly);
  EXPECT_TRUE(is_found());
  policy_.profile.filesystem.roots.clear();
  policy_.profile.filesystem.base = Base::kHost;
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

}  // namespace
}  // namespace sbx
