// SPDX-License-Identifier: Apache-2.0
// Made-up machines and file trees, so that plans can be made and compared anywhere: a shipped or
// written profile, a workspace in /home/user/work, and a kernel that has everything unless the test
// takes something away. Reads no file of the host.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace sbx::testing {

struct Sample {
  Profile profile;
  Policy policy;
  Request request;
  HostFacts facts;
  View view;
  Environment environment;

  Result<LaunchPlan> plan() const {
    return make_plan(PlanInput{policy, request, facts, view, environment});
  }
};

inline constexpr const char* kWorkspace = "/home/user/work";

// A Linux 6.18 with everything, and an ordinary caller.
HostFacts full_facts();
// No namespace of any kind can be had, with a reason and a mend each.
void take_namespaces(HostFacts& facts);

// The view of a policy on a made-up machine where every root is a directory, except that paths
// ending in ".txt" are files; `.git/hooks` exists, other protected paths do not.
View made_up_view(const Policy& policy);

// A request to run `true` under the profile on that machine. Errors: those of make_policy().
Result<Sample> sample_of(Profile profile);
Sample shipped_sample(std::string_view profile);
// A profile that extends `default`: the text of the further keys, as in R"("seccomp": {…})".
Sample written_sample(const std::string& keys);
// Flags over a sample's profile; everything that follows from the policy is made anew.
void apply_flags(Sample& sample, const OperatorFlags& flags);

// Index of the first (last) step of that kind, or -1.
template <Operation T>
int first_of(const LaunchPlan& plan) {
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    if (plan.ops[i].is<T>()) return static_cast<int>(i);
  }
  return -1;
}
template <Operation T>
int last_of(const LaunchPlan& plan) {
  for (std::size_t i = plan.ops.size(); i-- > 0;) {
    if (plan.ops[i].is<T>()) return static_cast<int>(i);
  }
  return -1;
}
// Every step of that kind, in order.
template <Operation T>
std::vector<T> all_of(const LaunchPlan& plan) {
  std::vector<T> out;
  for (const Op& op : plan.ops) {
    if (const T* const step = op.as<T>()) out.push_back(*step);
  }
  return out;
}
// The step that makes something at `destination` (relative to the new root), of whatever kind.
const Op* step_at(const LaunchPlan& plan, std::string_view destination);
// Whether that step gives the mount MOUNT_ATTR_RDONLY.
bool is_read_only(const Op* step);

std::string limit_enforcer(const LaunchPlan& plan, std::string_view limit);
// Of all rows of `what`, a line each.
std::string reasons_of(const LaunchPlan& plan, std::string_view what);
bool is_degraded(const LaunchPlan& plan, std::string_view what);

}  // namespace sbx::testing
