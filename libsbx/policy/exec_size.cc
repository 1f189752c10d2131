// SPDX-License-Identifier: Apache-2.0
// The sizes of a request's arguments and variables, added up.
#include "policy/exec_size.h"

#include <string>
#include <vector>

namespace sbx {

Status check_exec_size(const Policy& policy, const Request& request, const Environment& base,
                       std::size_t most) {
  const std::vector<std::string> argv = request_argv(policy, request);
  std::size_t total = 0;
  const auto add = [&](std::size_t bytes) {
    total += bytes + 1 + sizeof(char*);
    return bytes < kMaxArgumentBytes;
  };
  for (const std::string& argument : argv) {
    if (add(argument.size())) continue;
    const bool is_text = request.argv.empty();
    return Error{ErrorCode::kTooLarge,
                 std::string(is_text ? "the command" : "an argument") + " has " +
                     std::to_string(argument.size()) + " bytes; one can have " +
                     std::to_string(kMaxArgumentBytes - 1),
                 is_text ? "/command" : "/argv",
                 is_text
                     ? "write it to a file of the workspace and run that, or give it to a shell "
                       "on its standard input"
                     : "hand it over in a file, or on the standard input"};
  }
  for (const auto& [name, value] : base) {
    if (!request.env.contains(name)) add(name.size() + 1 + value.size());
  }
  for (const auto& [name, value] : request.env) {
    if (add(name.size() + 1 + value.size())) continue;
    return Error{ErrorCode::kTooLarge,
                 "the variable " + name.substr(0, 64) + " has " + std::to_string(value.size()) +
                     " bytes; with its name it can have " + std::to_string(kMaxArgumentBytes - 1),
                 "/env", "hand it over in a file"};
  }
  if (total <= most) return {};
  return Error{ErrorCode::kTooLarge,
               "the arguments and variables have " + std::to_string(total) +
                   " bytes with their pointers; a program can be given " + std::to_string(most),
               "/argv", "hand some of them over in a file, or through xargs"};
}

}  // namespace sbx
