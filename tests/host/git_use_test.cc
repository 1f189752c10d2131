// SPDX-License-Identifier: Apache-2.0
// Repositories that lead on and on, and what is said of them.
#include "host/git_use.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace sbx {
namespace {

GitUse look_at(const std::string& path) {
  ViewRoot root;
  root.node = {path, NodeKind::kDirectory};
  root.access = Access::kReadWrite;
  return look_at_git({root});
}

TEST(GitUse, AConfigurationThatIncludesItselfUnderEverNewNamesIsLookedAtSoFar) {
  constexpr std::size_t kMost = 30'000;
  const test::TempDir top;
  std::string config = "[include]\n";
  for (char name = 'a'; name <= 'l'; ++name) {
    top.directory(std::string(".git/") + name);
    config += std::string("path = ") + name + "/../config\n";
  }
  top.file(".git/config", config);
  const GitUse before = look_at(top.path());
  EXPECT_LT(before.size(), kMost);
  // It is not known that nothing changed.
  const std::vector<std::string> changes = git_changes(before, before);
  EXPECT_EQ(changes, std::vector<std::string>{top.path()});
}

TEST(GitUse, AnIncludeThroughALongWayOfDirectoriesIsLookedAtSoFar) {
  const test::TempDir top;
  std::string way;
  for (int i = 0; i < 300; ++i) way += "a/";
  top.directory(".git");
  top.directory(way);
  top.symlink(".git/l", "../" + way);
  std::string config = "[include]\n";
  for (int i = 0; i < 100; ++i) config += "path = l/" + std::to_string(i) + "\n";
  top.file(".git/config", config);
  const GitUse use = look_at(top.path());
  EXPECT_EQ(git_changes(use, use), std::vector<std::string>{top.path()});
}

TEST(GitUse, SymlinksThatLeadOutByLongWaysAreFollowedSoFar) {
  const test::TempDir top;
  top.directory(".git");
  std::string here;
  std::string outside;
  for (int i = 0; i < 1900; ++i) here += "./";
  for (int i = 0; i < 1900; ++i) outside += "/a";
  for (int i = 0; i < 15; ++i)
    top.symlink(".git/" + std::to_string(i), here + std::to_string(i + 1));
  top.symlink(".git/15", outside);
  std::string config = "[include]\n";
  for (int i = 0; i < 100; ++i) config += "path = 0/" + std::to_string(i) + "\n";
  top.file(".git/config", config);
  const GitUse use = look_at(top.path());
  EXPECT_EQ(git_changes(use, use), std::vector<std::string>{top.path()});
}

TEST(GitUse, AnOrdinaryRepositoryIsLookedAtToItsEnd) {
  const test::TempDir top;
  top.file(".git/HEAD", "ref: refs/heads/main\n");
  top.file(".git/config", "[include]\npath = other\n[core]\nhooksPath = hooks\n");
  top.file(".git/other", "[core]\nbare = false\n");
  for (int i = 0; i < 100; ++i) top.file(".git/hooks/" + std::to_string(i), "#!/bin/sh\n");
  const GitUse before = look_at(top.path());
  EXPECT_TRUE(git_changes(before, before).empty());
  top.file(".git/other", "[core]\nfsmonitor = x\n");
  EXPECT_EQ(git_changes(before, look_at(top.path())),
            std::vector<std::string>{top.at(".git/other")});
}

}  // namespace
}  // namespace sbx
