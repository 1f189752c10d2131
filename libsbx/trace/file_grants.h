// SPDX-License-Identifier: Apache-2.0
// What in the profile would let a file be read or written, as the plan shows it.
#pragma once

#include <string>

#include "plan/plan.h"
#include "policy/policy.h"

namespace sbx {

// As the plan shows the deepest place that holds the path; empty where nothing does.
std::string shown_as(const LaunchPlan& plan, const std::string& path);

// Within a writable root, by name: a protected path, or a directory that leads to one, which can be
// neither moved nor removed.
bool is_protected_by_name(const Policy& policy, const std::string& path);

// Empty where nothing that could be added would, as where the caller may not do so itself.
std::string file_grant(const LaunchPlan& plan, const Policy& policy, const std::string& path,
                       bool to_write);

}  // namespace sbx
