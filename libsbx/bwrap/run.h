// SPDX-License-Identifier: Apache-2.0
// A plan of sbx-bwrap's → a running sandbox, what callers are told about it over their descriptors,
// and the exit status that stands for how the command ended.
#pragma once

#include <string>
#include <vector>

#include "bwrap/plan.h"

namespace sbx::bwrap {

// All of it; the descriptor is closed. Error: its message is the system's words.
Result<std::string> read_all(int fd);

// Reads the filters that the options name. Error: bubblewrap's message.
Result<std::vector<FilterProgram>> read_programs(const Options& options);

// Joins the namespaces that the options name, runs the plan, and waits as bubblewrap does: until
// the command ends, not what it leaves behind. May return in a second process too, which then ends
// with the status that it is given. Closes descriptors of the process that it does not need. Error:
// bubblewrap's message; the exit status is 1.
Result<int> run_sandbox(const Options& options, const LaunchPlan& plan);

}  // namespace sbx::bwrap
