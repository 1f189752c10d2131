// SPDX-License-Identifier: Apache-2.0
// Programs that the caller has and the command had not: named in its text, found by the caller's
// PATH only in directories that are not shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/denial.h"
#include "model/request.h"

namespace sbx {

// What `denials` says of them, each with what would show it. `hidden` are the directories of PATH,
// `search_path`, that are not shown. Looks at the host's files only where there are any.
std::vector<Denial> missing_programs(const Request& request, std::string_view search_path,
                                     const std::vector<std::string>& hidden);

}  // namespace sbx
