// SPDX-License-Identifier: Apache-2.0
// Programs that run outside while commands run inside, as a credential's `command`: none that a
// command could have written or put in the place of another.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace sbx {

// Without the directories that a command could put a program into, and without relative ones.
std::string outside_search_path(const Policy& policy, const std::string& search_path);

// With the program's path in the place of its name, found by that search path. Errors: kBadValue at
// `where` for a relative path, and for a word that names what a command could write.
Result<std::vector<std::string>> outside_command(const Policy& policy,
                                                 const std::string& search_path,
                                                 std::vector<std::string> command,
                                                 const std::string& where);

}  // namespace sbx
