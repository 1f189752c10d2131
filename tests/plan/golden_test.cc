// SPDX-License-Identifier: Apache-2.0
// Whole plans against golden files: every shipped profile on a kernel that has everything, and the
// default one where something is missing. SBX_UPDATE_GOLDEN=1 writes the files anew; the difference
// is then for the eyes of whoever commits it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/format.h"
#include "base/text.h"
#include "plan/sample_plan.h"
#include "support/dump_plan.h"
#include "support/temp_dir.h"

namespace sbx::testing {
namespace {

std::string summary(const LaunchPlan& plan) {
  std::string out = dump_plan(plan);
  out += "\nwanted:";
  for (int i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if (plan.wanted.has(layer)) out += fmt::format(" {}", layer_name(layer));
  }
  out += fmt::format("\nhome: {}\ncwd: {}\n", plan.home, plan.cwd);
  for (const auto& limit : plan.limits) {
    out += fmt::format("limit: {} by {}\n", limit_name(limit.limit), enforcer_name(limit.enforcer));
  }
  for (const auto& [path, how] : plan.shown) out += fmt::format("shown: {} {}\n", path, how);
  for (const auto& degradation : plan.degraded) {
    out += fmt::format("degraded: {}: {}\n", degradation.what, degradation.reason);
  }
  for (const std::string& warning : plan.warnings) out += fmt::format("warning: {}\n", warning);
  return out;
}

// Lines that only one of the two has, with the place where they part.
std::string difference(const std::string& golden, const std::string& now) {
  const auto old_lines = split(golden, '\n');
  const auto new_lines = split(now, '\n');
  std::size_t head = 0;
  while (head < old_lines.size() && head < new_lines.size() && old_lines[head] == new_lines[head]) {
    ++head;
  }
  std::size_t tail = 0;
  while (tail < old_lines.size() - head && tail < new_lines.size() - head &&
         old_lines[old_lines.size() - 1 - tail] == new_lines[new_lines.size() - 1 - tail]) {
    ++tail;
  }
  std::string out = fmt::format("from line {}:\n", head + 1);
  for (std::size_t i = head; i < old_lines.size() - tail; ++i) {
    out += fmt::format("- {}\n", old_lines[i]);
  }
  for (std::size_t i = head; i < new_lines.size() - tail; ++i) {
    out += fmt::format("+ {}\n", new_lines[i]);
  }
  return out;
}

void expect_golden(const Sample& sample, const std::string& name) {
  const auto plan = sample.plan();
  const std::string now =
      plan.ok() ? summary(plan.value()) : "error: " + error_line(plan.error()) + "\n";
  const std::string path = SBX_SOURCE_DIR "/tests/plan/golden/" + name + ".txt";
  if (std::getenv("SBX_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << now;
    return;
  }
  const std::string golden = test::slurp(path);
  EXPECT_EQ(golden == now, true) << name
                                 << ".txt is out of date (SBX_UPDATE_GOLDEN=1 writes it anew)\n"
                                 << difference(golden, now);
}

class ShippedProfile : public ::testing::TestWithParam<const char*> {};

TEST_P(ShippedProfile, GivesItsGoldenPlanWhereTheKernelHasEverything) {
  expect_golden(shipped_sample(GetParam()), GetParam());
}

INSTANTIATE_TEST_SUITE_P(GoldenPlan, ShippedProfile,
                         ::testing::Values("default", "readonly", "strict", "build", "network",
                                           "unconfined", "tool-bash", "tool-shell",
                                           "tool-bash_exec", "tool-execute_command",
                                           "tool-code_execution"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

// What is required is what Landlock and the filter can hold alone.
Sample degradable() {
  return written_sample(
      R"("isolation": {"require": ["seccomp", "landlock"], "fallback": "degrade"})");
}

TEST(GoldenPlan, OfLandlockAbi2LeavesOutTheNewerRights) {
  Sample sample = shipped_sample("default");
  sample.facts.landlock_abi = 2;
  expect_golden(sample, "default-landlock2");
}

TEST(GoldenPlan, WithoutNamespacesIsRefusedByTheDefaultProfile) {
  Sample sample = shipped_sample("default");
  take_namespaces(sample.facts);
  expect_golden(sample, "default-no_namespaces");
}

TEST(GoldenPlan, WithoutNamespacesKeepsLandlockAndTheFilter) {
  Sample sample = degradable();
  take_namespaces(sample.facts);
  expect_golden(sample, "degraded-no_namespaces");
}

TEST(GoldenPlan, WithAMaskedProcBindsTheOldOne) {
  Sample sample = degradable();
  sample.facts.proc_mountable = false;
  expect_golden(sample, "degraded-masked_proc");
}

TEST(GoldenPlan, OfARootCallerWatchesThePids) {
  Sample sample = shipped_sample("default");
  sample.facts.uid = 0;
  sample.facts.gid = 0;
  sample.facts.user_name = "root";
  sample.facts.group_name = "root";
  expect_golden(sample, "default-root");
}

TEST(GoldenPlan, WithoutAListenerRefusesWithoutReports) {
  Sample sample = shipped_sample("default");
  sample.facts.seccomp_notify = false;
  expect_golden(sample, "default-no_listener");
}

TEST(GoldenPlan, OfNestedNamespacesLeavesProcWritable) {
  expect_golden(written_sample(R"("seccomp": {"allow": ["unshare", "clone"]})"), "nested");
}

}  // namespace
}  // namespace sbx::testing
