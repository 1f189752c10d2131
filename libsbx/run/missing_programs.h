// SPDX-License-Identifier: Apache-2.0
// Programs that the caller has and the command had not: named in its text, found by the caller's
// PATH only where nothing is shown. Or named as not found in what the command printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/view.h"
#include "model/denial.h"
#include "model/request.h"
#include "policy/policy.h"

namespace sbx {

// What `denials` says of them, each with what would show it. `search_path` is PATH, `printed` what
// the command wrote to its stderr: shells and make name there what they did not find. A program
// that lies in a shown directory is missing where it is a symlink to what is not shown.
std::vector<Denial> missing_programs(const Request& request, std::string_view search_path,
                                     const Policy& policy, const View& view,
                                     std::string_view printed = "");

// Of those that the command names by a path what is not shown: the program, what it leads to, or
// the interpreter that its first line names. Where the command `has_run`, those that are named as
// not found in what was `printed`; else what there was to run.
std::vector<Denial> unfound_programs(const Request& request, bool has_run, const Policy& policy,
                                     const View& view, std::string_view printed);

// Those of `denied`, absolute paths, that a program says, in what was `printed` to stderr, it may
// not execute: a make, a script or an interpreter tried them.
std::vector<Denial> refused_programs(const std::vector<std::string>& denied, const Policy& policy,
                                     std::string_view printed);

}  // namespace sbx
