// SPDX-License-Identifier: Apache-2.0
// How a name is held against a pattern.
#include "guard/names.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

#include "json/writer.h"
#include "shell/arguments.h"

namespace sbx::guard {

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

bool matches_name(std::string_view pattern, std::string_view program) {
  pattern = shell::base_name(pattern);
  program = shell::base_name(program);
  if (!is_pattern(pattern)) return pattern == program;
  return fnmatch(std::string(pattern).c_str(), std::string(program).c_str(), 0) == 0;
}

bool is_denied_name(const std::vector<std::string>& more, std::string_view program) {
  const auto matches = [&](std::string_view pattern) { return matches_name(pattern, program); };
  return std::any_of(std::begin(kDeniedCommands), std::end(kDeniedCommands), matches) ||
         std::any_of(more.begin(), more.end(), matches);
}

std::string denied_name_grant(const std::vector<std::string>& denied, std::string_view program) {
  if (is_denied_name({}, program)) return "";
  for (const std::string& pattern : denied) {
    if (matches_name(pattern, program)) return "commands.deny -= [" + json_string(pattern) + "]";
  }
  return "";
}

}  // namespace sbx::guard
