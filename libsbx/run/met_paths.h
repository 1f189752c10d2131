// SPDX-License-Identifier: Apache-2.0
// Paths that the text of a kept shell's call names, and of which its stderr says that they could
// not be had: its calls into the kernel wait for nobody, since its texts are not known when the
// sandbox begins. Held against the sandbox as it stands.
#pragma once

#include <sys/types.h>

#include <string_view>
#include <vector>

#include "guard/verdict.h"
#include "model/denial.h"
#include "plan/plan.h"
#include "policy/policy.h"

namespace sbx {

// Whether a line may do so: else there is no need to look further.
bool tells_of_paths(std::string_view printed);

// `inside`: a process whose root is the sandbox's. `known`: what is told already. Waits for no disk
// or server that the command itself has not waited for.
std::vector<Denial> met_paths(const LaunchPlan& plan, const Policy& policy,
                              std::vector<guard::RefusedPath> named, pid_t inside,
                              std::string_view printed, const std::vector<Denial>& known);

}  // namespace sbx
