// SPDX-License-Identifier: Apache-2.0
// One look for each name in each directory of PATH, in its order.
#include "run/missing_programs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "model/grant.h"
#include "shell/programs.h"
#include "shell/reading.h"

namespace sbx {
namespace {

constexpr std::size_t kMostNames = 64;  // of one text

bool is_program(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Names in command position that a shell would look up.
std::vector<std::string> names_of(const Request& request) {
  std::vector<std::string> names;
  const Reading reading =
      request.argv.empty() ? read_shell(request.command) : read_argv(request.argv);
  for (const Command& command : reading.commands) {
    if (command.words.empty() || !command.words.front().known) continue;
    const std::string& name = command.words.front().text;
    if (name.empty() || name.find('/') != std::string::npos || is_shell_builtin(name)) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (names.size() == kMostNames) break;
  }
  return names;
}

std::string shows(const std::string& directory, const std::string& target) {
  std::vector<std::string> paths = {directory};
  // A symlink's target shows only with a root of its own.
  std::string holder = target.substr(0, std::max<std::size_t>(target.rfind('/'), 1));
  if (holder != directory) paths.push_back(std::move(holder));
  return root_grant(paths, "ro");
}

}  // namespace

std::vector<Denial> missing_programs(const Request& request, std::string_view search_path,
                                     const std::vector<std::string>& hidden) {
  std::vector<Denial> out;
  if (hidden.empty()) return out;
  for (const std::string& name : names_of(request)) {
    std::string found;  // the first directory that has it
    bool had_one = false;
    for (const std::string_view entry : split(search_path, ':')) {
      if (!entry.starts_with('/') || !is_program(std::string(entry) + "/" + name)) continue;
      had_one = had_one || std::find(hidden.begin(), hidden.end(), entry) == hidden.end();
      if (found.empty()) found = entry;
    }
    if (found.empty() || had_one) continue;
    const Result<std::string> directory = real_path(found);
    const Result<std::string> target = real_path(found + "/" + name);
    if (!directory.ok() || !target.ok()) continue;
    const bool is_named = std::any_of(out.begin(), out.end(), [&](const Denial& denial) {
      return denial.target == target.value();
    });
    if (is_named) continue;
    out.push_back(
        {Refuser::kMount, "exec", target.value(), 1, "", shows(directory.value(), target.value())});
  }
  return out;
}

}  // namespace sbx
