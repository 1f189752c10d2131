// SPDX-License-Identifier: Apache-2.0
// A path is a command's to change where it lies in a writable root and the caller may write it or a
// directory on the way from that root.
#include "host/outside_program.h"

#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/paths.h"
#include "base/text.h"

namespace sbx {
namespace {

bool is_changed_below(std::string_view path, const std::string& root) {
  if (!is_below(path, root)) return false;
  for (; path != root; path = parent_of(path)) {
    if (access(std::string(path).c_str(), W_OK) == 0) return true;
  }
  return access(root.c_str(), W_OK) == 0;
}

bool is_changeable(const Policy& policy, const std::string& path) {
  const auto& roots = policy.sandbox.filesystem.roots;
  return std::any_of(roots.begin(), roots.end(), [&](const Root& root) {
    if (root.access != Access::kReadWrite) return false;
    const Result<std::string> real = real_path(root.path);
    return is_changed_below(path, root.path) || (real.ok() && is_changed_below(path, real.value()));
  });
}

// By its name, and by what that leads to.
bool is_changeable_by_any_name(const Policy& policy, const std::string& path) {
  const Result<std::string> real = real_path(path);
  return is_changeable(policy, path) || (real.ok() && is_changeable(policy, real.value()));
}

}  // namespace

std::string outside_search_path(const Policy& policy, const std::string& search_path) {
  std::string kept;
  for (const std::string_view directory : split(search_path, ':')) {
    if (!directory.starts_with('/') || is_changeable_by_any_name(policy, std::string(directory))) {
      continue;
    }
    kept += (kept.empty() ? "" : ":") + std::string(directory);
  }
  return kept.empty() ? "/usr/bin:/bin" : kept;
}

Result<std::vector<std::string>> outside_command(const Policy& policy,
                                                 const std::string& search_path,
                                                 std::vector<std::string> command,
                                                 const std::string& where) {
  std::string& program = command.front();
  if (program.find('/') == program.npos) {
    for (const std::string_view directory : split(search_path, ':')) {
      const std::string path = join_path(directory, program);
      if (access(path.c_str(), X_OK) != 0) continue;
      program = path;
      break;
    }
  } else if (!program.starts_with('/')) {
    return Error{ErrorCode::kBadValue, "a relative path: " + program, where,
                 "name the program by its absolute path"};
  }
  for (const std::string& word : command) {
    if (!word.starts_with('/') || access(word.c_str(), F_OK) != 0 ||
        !is_changeable_by_any_name(policy, word)) {
      continue;
    }
    return Error{ErrorCode::kBadValue,
                 "what the command inside can write would be run or read outside: " + word, where,
                 "keep it out of the writable roots"};
  }
  return command;
}

}  // namespace sbx
