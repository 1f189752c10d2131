// SPDX-License-Identifier: Apache-2.0
// One look for each name in each directory of PATH, in its order.
#include "run/missing_programs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/files.h"
#include "base/owned_fd.h"
#include "base/paths.h"
#include "base/text.h"
#include "guard/names.h"
#include "model/grant.h"
#include "run/at_hand.h"
#include "shell/programs.h"
#include "shell/reading.h"

namespace sbx {
namespace {

constexpr std::size_t kMostNames = 64;  // of one text

bool is_program(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Names in command position: those that a shell would look up, or those that are paths.
std::vector<std::string> names_of(const Request& request, bool are_paths) {
  std::vector<std::string> names;
  const shell::Reading reading =
      request.argv.empty() ? shell::read_shell(request.command) : shell::read_argv(request.argv);
  for (const shell::Command& command : reading.commands) {
    if (command.words.empty() || !command.words.front().known) continue;
    const std::string& name = command.words.front().text;
    if (name.empty() || (name.find('/') != std::string::npos) != are_paths) continue;
    if (!are_paths && shell::is_shell_builtin(name)) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (names.size() == kMostNames) break;
  }
  return names;
}

// A plain name, as programs have: what is printed is for the command to choose.
bool is_plain_name(std::string_view name) {
  static constexpr std::size_t kLongest = 64;
  return !name.empty() && name.size() <= kLongest && name.front() != '-' && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_alphanumeric(c) || std::string_view("._+-").find(c) != std::string_view::npos;
         });
}

// Of "sh: 1: NAME: not found", "x.sh: line 3: NAME: command not found" and "make: NAME: No such
// file or directory" the name; empty where a line is none of these.
std::string_view not_found_in(std::string_view line) {
  for (const std::string_view end :
       {": command not found", ": not found", ": No such file or directory"}) {
    if (!line.ends_with(end)) continue;
    line.remove_suffix(end.size());
    const std::size_t colon = line.rfind(": ");
    if (colon == line.npos || (end.front() == ':' && end[2] == 'N' && !line.starts_with("make")))
      return "";
    const std::string_view name = line.substr(colon + 2);
    return is_plain_name(name) ? name : std::string_view();
  }
  return "";
}

void add_printed_names(std::string_view printed, std::vector<std::string>& names) {
  for (const std::string_view line : split(printed, '\n')) {
    if (names.size() >= kMostNames) return;
    const std::string_view name = not_found_in(line);
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.emplace_back(name);
  }
}

// By the deepest root, else by what the base and the home show.
bool is_shown(const std::string& path, const Policy& policy, const View& view) {
  if (const ViewRoot* const root = deepest_at(view.roots, path, &ViewRoot::path)) {
    return root->access != Access::kNone;
  }
  const auto holds = [&](const Node& node) { return is_below(path, node.path); };
  return is_below(path, "/etc") || std::any_of(view.system.begin(), view.system.end(), holds) ||
         std::any_of(view.caches.begin(), view.caches.end(),
                     [&](const auto& cache) { return holds(cache.second); }) ||
         (policy.sandbox.filesystem.home == HomeMode::kHost && is_below(path, policy.sandbox.home));
}

// The directories of both that are not shown: a symlink's target shows only with a root of its own.
std::string shows(const std::string& directory, const std::string& target, const Policy& policy,
                  const View& view) {
  std::vector<std::string> paths;
  std::string holder = target.substr(0, std::max<std::size_t>(target.rfind('/'), 1));
  const bool is_there = is_shown(directory, policy, view);
  if (holder == directory || !is_there) {
    paths.push_back(is_there ? target : directory);  // hidden by itself
  }
  if (holder != directory && !is_shown(target, policy, view)) paths.push_back(std::move(holder));
  if (paths.empty()) paths.push_back(directory);
  return root_grant(paths, "ro");
}

// What the first line of a script names; empty where it names nothing by its full path. The file is
// the command's own, so it is not waited for.
std::string interpreter_of(const std::string& path) {
  constexpr std::size_t kMostLine = 256;  // as the kernel's BINPRM_BUF_SIZE
  const OwnedFd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!file.is_open() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  const Result<std::string> text = read_up_to(file.get(), kMostLine);
  if (!text.ok() || !text.value().starts_with("#!")) return "";
  const std::string line = text.value().substr(0, text.value().find('\n'));
  const std::size_t begin = std::min(line.find_first_not_of(" \t", 2), line.size());
  const std::string word = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  return word.starts_with('/') && word.find('\0') == std::string::npos ? word : "";
}

// A program that was not found by its path: it, what it leads to, or its interpreter is not shown.
void add_unshown(const std::string& path, const Policy& policy, const View& view, bool is_first,
                 std::vector<Denial>& out) {
  if (!is_at_hand(path)) return;
  const Result<std::string> directory = real_path(std::string(parent_of(path)));
  const Result<std::string> target = real_path(path);
  if (!directory.ok() || !target.ok() || !is_program(target.value())) return;
  const std::string name = join_path(directory.value(), path.substr(path.rfind('/') + 1));
  const bool is_link = name != target.value();
  std::vector<std::string> paths;
  if (!is_shown(name, policy, view)) paths.push_back(is_link ? directory.value() : name);
  if (is_link && !is_shown(target.value(), policy, view)) {
    paths.emplace_back(parent_of(target.value()));
  }
  if (!paths.empty()) {
    out.push_back({Refuser::kMount, "exec", target.value(), 1, "", root_grant(paths, "ro")});
  } else if (is_first) {
    const std::string interpreter = interpreter_of(target.value());
    if (!interpreter.empty()) add_unshown(interpreter, policy, view, false, out);
  }
}

}  // namespace

std::vector<Denial> unfound_programs(const Request& request, bool has_run, const Policy& policy,
                                     const View& view, std::string_view printed) {
  std::vector<Denial> out;
  const Result<std::string> cwd = request_cwd(policy, request);
  if (policy.sandbox.filesystem.base != Base::kSystem || !cwd.ok()) return out;
  for (const std::string& name : names_of(request, true)) {
    const bool is_unfound = has_run ? printed.find(": " + name + ": ") != printed.npos
                                    : !request.argv.empty() && name == request.argv.front();
    if (!is_unfound) continue;
    add_unshown(name.starts_with('/') ? name : join_path(cwd.value(), name), policy, view, true,
                out);
  }
  return out;
}

std::vector<Denial> missing_programs(const Request& request, std::string_view search_path,
                                     const Policy& policy, const View& view,
                                     std::string_view printed) {
  std::vector<Denial> out;
  if (policy.sandbox.filesystem.base != Base::kSystem) return out;
  const std::vector<std::string>& hidden = view.hidden_path;
  std::vector<std::string> names = names_of(request, false);
  add_printed_names(printed, names);
  for (const std::string& name : names) {
    std::string found;  // the first directory that has it
    bool had_one = false;
    for (const std::string_view entry : split(search_path, ':')) {
      const std::string path = std::string(entry) + "/" + name;
      if (!entry.starts_with('/') || !is_program(path)) continue;
      if (found.empty()) found = entry;
      if (std::find(hidden.begin(), hidden.end(), entry) != hidden.end()) continue;
      const Result<std::string> target = real_path(path);
      had_one = !target.ok() || is_shown(target.value(), policy, view);
      if (had_one) break;
    }
    if (found.empty() || had_one) continue;
    const Result<std::string> directory = real_path(found);
    const Result<std::string> target = real_path(found + "/" + name);
    if (!directory.ok() || !target.ok()) continue;
    const bool is_named = std::any_of(out.begin(), out.end(), [&](const Denial& denial) {
      return denial.target == target.value();
    });
    if (is_named) continue;
    out.push_back({Refuser::kMount, "exec", target.value(), 1, "",
                   shows(directory.value(), target.value(), policy, view)});
  }
  return out;
}

std::vector<Denial> refused_programs(const std::vector<std::string>& denied, const Policy& policy,
                                     std::string_view printed) {
  std::vector<Denial> out;
  for (const std::string& program : denied) {
    const std::string name = program.substr(program.rfind('/') + 1);
    for (const std::string& form :
         {": " + name + ": Permission denied", ": " + program + ": Permission denied",
          "Permission denied: '" + name + "'", "Permission denied: '" + program + "'",
          "spawn " + name + " EACCES", "spawn " + program + " EACCES"}) {
      if (printed.find(form) == printed.npos) continue;
      out.push_back({Refuser::kMount, "exec", program, 1, "",
                     guard::denied_name_grant(policy.sandbox.commands.deny, program)});
      break;
    }
  }
  return out;
}

}  // namespace sbx
