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

TEST(GitUse, ManyInclusionsOfTheSameFilesAreLookedAtSoFar) {
  const test::TempDir top;
  std::string config = "[include]\n";
  for (int i = 0; i < 36'000; ++i)
    config += "path=" + std::string(1, "abcdefghijklmnopqrstuvwxyz"[i % 26]) + "\n";
  for (char name = 'a'; name <= 'z'; ++name) top.file(std::string(".git/") + name, config);
  top.file(".git/config", config);
  const GitUse use = look_at(top.path());
  EXPECT_EQ(git_changes(use, use), std::vector<std::string>{top.path()});
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

TEST(GitUse, AnIndexThatIsTooLargeIsNamedEachTime) {
  const test::TempDir top;
  top.file(".git/HEAD", "ref: refs/heads/main\n");
  const std::string index = top.file(".git/index", "DIRC");
  ASSERT_EQ(truncate(index.c_str(), (off_t{64} << 20) + 1), 0);
  const GitUse use = look_at(top.path());
  EXPECT_EQ(git_changes(use, use), std::vector<std::string>{index});
}

// Each would take minutes where an entry is looked through to the end of the index.
TEST(GitUse, AnIndexIsReadInTimeThatGrowsWithIt) {
  const test::TempDir top;
  top.file(".git/HEAD", "ref: refs/heads/main\n");
  std::string no_end("DIRC\2\2\2\2\1\1\1\1", 12);
  for (int i = 0; i < 3 << 20; ++i) no_end += "\x10\1";
  std::string long_name("DIRC\0\0\0\4\1\1\1\1", 12);
  const std::string entry = std::string(60, '\1') + "\x0f\xff" + std::string(1, '\0');
  long_name += entry + std::string(1 << 20, 'x') + std::string(1, '\0');
  for (int i = 0; i < 1 << 14; ++i) long_name += entry + std::string(1, '\0');
  for (const std::string& index : {no_end, long_name}) {
    top.file(".git/index", index);
    EXPECT_FALSE(look_at(top.path()).empty());
  }
}

TEST(GitUse, MoreRepositoriesWithinThanAreLookedAtAreNamedEachTime) {
  const test::TempDir top;
  top.file(".git/HEAD", "ref: refs/heads/main\n");
  std::string entries;
  for (int i = 0; i < 257; ++i) {
    std::string entry(24, '\0');
    entry += std::string("\0\0\xe0\0", 4) + std::string(12 + 20, '\0');
    const std::string name = "r" + std::to_string(1000 + i);
    entry += std::string("\0", 1) + static_cast<char>(name.size()) + name;
    entry.resize((entry.size() / 8 + 1) * 8);
    entries += entry;
  }
  const std::string index = top.file(
      ".git/index", "DIRC" + std::string("\0\0\0\2\0\0\1\1", 8) + entries + std::string(20, '\0'));
  const GitUse use = look_at(top.path());
  EXPECT_EQ(git_changes(use, use), std::vector<std::string>{index});
}

TEST(GitUse, ABareRepositoryMayHaveItsObjectsElsewhere) {
  const test::TempDir top;
  const GitUse before = look_at(top.path());
  top.file("HEAD", "ref: refs/heads/main\n");
  top.file("commondir", "store\n");
  top.file("store/config", "[core]\nfsmonitor = x\n");
  const std::vector<std::string> changes = git_changes(before, look_at(top.path()));
  EXPECT_TRUE(std::find(changes.begin(), changes.end(), top.path() + "/store/config") !=
              changes.end());
}

TEST(GitUse, ALinkedWorktreeThatIsLedElsewhereIsNamed) {
  const test::TempDir top;
  top.file(".git/HEAD", "ref: refs/heads/main\n");
  const std::string common = top.file(".git/worktrees/wt/commondir", "../..\n");
  const GitUse before = look_at(top.path());
  top.file(".git/worktrees/other/commondir", "../..\n");
  EXPECT_EQ(git_changes(before, look_at(top.path())), std::vector<std::string>{});
  top.file(".git/worktrees/wt/commondir", "../../../evil/.git\n");
  EXPECT_EQ(git_changes(before, look_at(top.path())), std::vector<std::string>{common});
}

TEST(GitUse, OfManyChangesThatOfAHookIsTheFirstAndTheirDirectoryStandsForTheRest) {
  const test::TempDir top;
  top.file(".git/HEAD", "ref: refs/heads/main\n");
  top.file(".git/config", "[core]\nhooksPath = hk\n");
  const GitUse before = look_at(top.path());
  for (int i = 100; i < 170; ++i) top.file("hk/." + std::to_string(i), "x");
  top.file("hk/pre-commit", "#!/bin/sh\n", 0755);
  const std::vector<std::string> changes = git_changes(before, look_at(top.path()));
  ASSERT_EQ(changes.size(), kMaxGitChanges);
  EXPECT_EQ(changes.front(), top.at("hk/pre-commit"));
  EXPECT_EQ(changes.back(), top.at("hk"));
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
