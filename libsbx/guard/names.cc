// SPDX-License-Identifier: Apache-2.0
// How a name is held against a pattern.
#include "guard/names.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

#include "shell/arguments.h"

namespace sbx {

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

bool matches_name(std::string_view pattern, std::string_view program) {
  pattern = base_name(pattern);
  program = base_name(program);
  if (!is_pattern(pattern)) return pattern == program;
  return fnmatch(std::string(pattern).c_str(), std::string(program).c_str(), 0) == 0;
}

bool is_denied_name(const std::vector<std::string>& more, std::string_view program) {
  const auto matches = [&](std::string_view pattern) { return matches_name(pattern, program); };
  return std::any_of(std::begin(kDeniedCommands), std::end(kDeniedCommands), matches) ||
         std::any_of(more.begin(), more.end(), matches);
}

}  // namespace sbx
