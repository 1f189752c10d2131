// SPDX-License-Identifier: Apache-2.0
// Options → LaunchPlan, and a failed step of that plan → bubblewrap's words for it.
#pragma once

#include <linux/filter.h>

#include <string>
#include <vector>

#include "bwrap/options.h"
#include "plan/plan.h"

namespace sbx::bwrap {

// Follows the symlinks of every source as the caller sees it and remembers what stands there;
// drops actions that may be missing. Reads the file system. Error: its message is bubblewrap's.
Status resolve_sources(Options& options);

// One for each --seccomp or --add-seccomp-fd, in order.
using FilterProgram = std::vector<sock_filter>;

// Of options that are checked, with their sources resolved. Pure.
LaunchPlan make_plan(const Options& options, const Caller& caller,
                     const std::vector<FilterProgram>& programs);

// Without the "bwrap: " in front. `detail` is what the step found in the way.
std::string failure_words(const LaunchPlan& plan, const Op& step, int error, const char* detail);

// mount(2)'s ENOSPC is no full disk.
std::string mount_error_words(int error);

}  // namespace sbx::bwrap
