// SPDX-License-Identifier: Apache-2.0
// Deny: one command against the lists of a profile → findings that refuse it, or that want a
// person because the profile names the program. Pure.
#pragma once

#include <string>
#include <vector>

#include "guard/rule.h"
#include "guard/verdict.h"

namespace sbx::guard {

// The names under commands.deny, commands.allow, network_allow, readonly and commands.ask.
void find_denied_names(const Policy& policy, const Case& c, std::vector<Finding>& out);

// What commands.allow cannot be held against, beside names.
void find_unshown(const Policy& policy, const shell::Reading& reading, std::vector<Finding>& out);

// commands.readonly: programs and redirections that write.
void find_writes(const Case& c, std::vector<Finding>& out);

// commands.confine_paths.
void find_paths_outside(const Case& c, std::vector<Finding>& out);

}  // namespace sbx::guard
