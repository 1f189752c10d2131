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

}  // namespace
}  // namespace sbx
