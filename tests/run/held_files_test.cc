// SPDX-License-Identifier: Apache-2.0
#include "run/held_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace sbx {
namespace {

namespace fs = std::filesystem;

// The command may have made a symlink of a directory on the way to what git must not find.
TEST(HeldFiles, TakeNothingAwayThroughASymlink) {
  const test::TempDir top;
  const std::string real = top.file("real/commondir", "x");
  const std::string outside = top.file("outside/commondir", "x");
  top.symlink("git", "outside");
  const Policy policy;
  LaunchPlan plan;
  plan.taken_away = {real, top.at("git/commondir")};
  DenialLedger denials;
  HeldFiles(policy, View()).compare(policy, plan, denials);
  EXPECT_FALSE(fs::exists(real));
  EXPECT_TRUE(fs::exists(outside));
}

TEST(HeldFiles, ADirectoryThatGitMustNotFindGoesAndWhatIsInItStays) {
  const test::TempDir top;
  top.directory("empty/commondir");
  top.file("full/commondir/theirs", "x");
  const Policy policy;
  LaunchPlan plan;
  for (const char* const name : {"empty/commondir", "full/commondir"}) {
    plan.taken_away.push_back(top.at(name));
    plan.report_created.push_back({.root = top.path(),
                                   .node = {.path = top.at(name)},
                                   .report_missing = true,
                                   .leads_git = true});
  }
  DenialLedger denials;
  HeldFiles(policy, View()).compare(policy, plan, denials);
  EXPECT_TRUE(fs::is_empty(top.at("empty")));
  const auto aside = fs::directory_iterator(top.at("full"))->path();
  EXPECT_TRUE(aside.filename().string().starts_with("commondir.sbx-")) << aside;
  EXPECT_EQ(test::slurp(aside / "theirs"), "x");
  ASSERT_EQ(denials.entries().size(), 2U);
  for (const Denial& denial : denials.entries()) EXPECT_EQ(denial.grant, "") << denial.target;
}

// Another run may have put the symlink in, and this one's command may not see where it leads.
TEST(HeldFiles, WhatASymlinkLeadsToIsTheSameWhetherItIsThereOrNot) {
  const test::TempDir top;
  top.file("outside/made", "x");
  top.directory("empty");
  top.directory("real");
  top.symlink("sub", "outside");
  top.symlink("other", "empty");
  const Policy policy;
  LaunchPlan plan;
  for (const char* const name : {"real/made", "sub/made", "other/made"}) {
    plan.report_created.push_back(
        {.root = top.path(), .node = {.path = top.at(name)}, .report_missing = true});
  }
  // Not where the symlink is the root's own place, which no command of its own can move.
  plan.report_created.push_back(
      {.root = top.at("sub"), .node = {.path = top.at("sub/made")}, .report_missing = true});
  DenialLedger denials;
  HeldFiles(policy, View()).compare(policy, plan, denials);
  ASSERT_EQ(denials.entries().size(), 2U);
  EXPECT_EQ(denials.entries()[0].target, top.at("sub/made"));
  EXPECT_EQ(denials.entries()[0].count, 1U);
  EXPECT_EQ(denials.entries()[1].target, top.at("other/made"));
}

}  // namespace
}  // namespace sbx
