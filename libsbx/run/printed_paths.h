// SPDX-License-Identifier: Apache-2.0
// Files that the policy hides, and that a program says on stderr it may not open, or that lie where
// nothing can be written, as it says: those that neither the command's text names nor a layer tells
// of. It names nothing but what the policy does, and what lies where all is shown read-only.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/denial.h"
#include "plan/plan.h"
#include "policy/policy.h"

namespace sbx {

constexpr std::size_t kMostComplaints = 64;  // lines that are looked through, the first ones
constexpr std::size_t kLongestComplaint = 1024;

// Whether the line names the path, as far as that is known without the directory that a relative
// one begins at.
bool names_path(std::string_view line, std::string_view path);

// `known`: what is told already. Of a command that has not `failed`, nothing that is read-only.
std::vector<Denial> printed_refusals(const LaunchPlan& plan, const Policy& policy,
                                     std::string_view printed, const std::vector<Denial>& known,
                                     bool failed);

}  // namespace sbx
