// SPDX-License-Identifier: Apache-2.0
// The kernel refuses the rename of git's lock over a mount point and tells nobody, so this goes by
// what the command says, in its text or its output, and by the trace that the lock leaves.
#include "run/git_settings.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <span>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "guard/places.h"
#include "host/git_files.h"
#include "model/grant.h"
#include "policy/policy.h"
#include "shell/arguments.h"
#include "shell/reading.h"

namespace sbx {
namespace {

// Where git's subcommand stands; 0: it is no git that has one.
std::size_t subcommand(const shell::Command& command) {
  const bool is_git =
      !command.words.empty() && shell::base_name(command.words.front().text) == "git";
  return is_git ? git_subcommand(command) : 0;
}

bool sets(const shell::Command& command) {
  const std::size_t at = subcommand(command);
  if (at == 0) return false;
  const std::string& name = command.words[at].text;
  const shell::Arguments arguments(command, at + 1);
  const auto& operands = arguments.operands();
  const std::string_view first = operands.empty() ? "" : std::string_view(operands.front()->text);
  if (name == "config") {
    if (arguments.find("global") != nullptr || arguments.find("system") != nullptr) return false;
    for (const char* edit :
         {"unset", "unset-all", "add", "replace-all", "edit", "rename-section", "remove-section"}) {
      if (arguments.find(edit) != nullptr) return true;
    }
    return shell::is_listed(first, "set unset edit rename-section remove-section") ||
           (operands.size() > 1 && !shell::is_listed(first, "get list"));
  }
  if (name == "remote") {
    return shell::is_listed(first, "add rename remove rm set-url set-head set-branches");
  }
  if (name == "submodule")
    return shell::is_listed(first, "add init deinit sync set-url set-branch");
  if (shell::is_listed(name, "branch checkout switch") && arguments.find('t', "track") != nullptr) {
    return true;
  }
  if (name == "branch") {
    return arguments.find('u', "set-upstream-to") != nullptr ||
           arguments.find("unset-upstream") != nullptr || arguments.find('m') != nullptr ||
           arguments.find("edit-description") != nullptr;
  }
  if (name == "push") return arguments.find('u', "set-upstream") != nullptr;
  return shell::is_listed(name, "sparse-checkout maintenance");
}

shell::Reading reading_of(const Request& request) {
  return request.argv.empty() ? shell::read_shell(request.command) : shell::read_argv(request.argv);
}

// Whether a `git config` names the setting.
bool asks_for(const Request& request, const GitSetting& setting) {
  const std::string middle = setting.subsection.empty() ? "" : setting.subsection + ".";
  const std::string key = lower_case(setting.section + "." + middle + setting.key);
  const shell::Reading reading = reading_of(request);
  return std::any_of(
      reading.commands.begin(), reading.commands.end(), [&](const shell::Command& command) {
        const std::size_t at = subcommand(command);
        return at != 0 && command.words[at].text == "config" &&
               std::any_of(command.words.begin(), command.words.end(),
                           [&](const shell::Word& word) { return lower_case(word.text) == key; });
      });
}

bool has_changed_since(const std::string& directory, std::int64_t began_ms) {
  struct stat info {};
  if (stat(directory.c_str(), &info) != 0) return false;
  const std::int64_t ms = std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1000000;
  return ms + 10 >= began_ms;  // the kernel's clock is coarse
}

}  // namespace

bool names_git(const Request& request) {
  constexpr std::string_view kAround = " \t\n;|&(){}`'\"<>=";
  const auto holds = [&](std::string_view text) {
    for (std::size_t at = text.find("git"); at != text.npos; at = text.find("git", at + 1)) {
      const std::size_t end = at + 3;
      const bool begins = at == 0 || text[at - 1] == '/' || kAround.find(text[at - 1]) != text.npos;
      if (begins && (end == text.size() || kAround.find(text[end]) != text.npos)) return true;
    }
    return false;
  };
  return holds(request.command) || std::any_of(request.argv.begin(), request.argv.end(), holds);
}

bool sets_git_config(const Request& request) {
  const shell::Reading reading = reading_of(request);
  return std::any_of(reading.commands.begin(), reading.commands.end(), sets);
}

std::vector<Denial> refused_git_settings(const Request& request, const View& view, bool in_overlay,
                                         std::string_view printed, std::int64_t began_ms) {
  std::vector<Denial> out;
  const auto take = [&](const Node& node) {
    static constexpr std::string_view kName = "/config";
    if (node.kind != NodeKind::kFile || !node.path.ends_with(kName)) return;
    if (!has_changed_since(node.path.substr(0, node.path.size() - kName.size()), began_ms)) return;
    out.push_back({Refuser::kMount, "write", node.path, 1, "git",
                   root_grant(std::span(&node.path, 1), "rw")});
  };
  if (!in_overlay) {
    for (const ViewProtect& protect : view.protects) take(protect.node);
  }
  for (const ViewRoot& root : view.roots) {
    if (root.is_git && root.access == Access::kReadOnly) take(root.node);
  }
  const bool is_said =
      !out.empty() && (printed.find("could not write config file") != std::string_view::npos ||
                       sets_git_config(request));
  if (!is_said) out.clear();
  return out;
}

std::optional<Denial> refused_git_clone(const Request& request, const std::string& workspace,
                                        const std::vector<std::string>& stubs,
                                        std::string_view printed) {
  const std::string stub = workspace + "/" + std::string(kProjectSettings);
  if (printed.find("already exists and is not an empty directory") == std::string_view::npos ||
      !names_git(request) || std::find(stubs.begin(), stubs.end(), stub) == stubs.end()) {
    return std::nullopt;
  }
  Listing listing(AT_FDCWD, workspace.c_str(), O_NOFOLLOW);
  if (!listing.is_open()) return std::nullopt;
  while (const dirent* entry = listing.next()) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name != kProjectSettings &&
        !name.starts_with(kLayersBeside)) {
      return std::nullopt;
    }
  }
  return Denial{Refuser::kMount,
                "git_clone",
                stub,
                1,
                "git",
                "clone into a directory of its own (git clone URL DIR), or git init, git pull URL"};
}

std::optional<Denial> missing_git_setting(const FilesystemProfile& filesystem,
                                          const std::string& home, const Request& request,
                                          const Outcome& outcome, std::string_view printed) {
  const bool is_unknown = printed.find("Author identity unknown") != std::string_view::npos ||
                          printed.find("Please tell me who you are") != std::string_view::npos;
  const bool may_ask = outcome.exit_code.value_or(0) != 0 && names_git(request);
  if ((!is_unknown && !may_ask) || filesystem.git_config != GitConfig::kNone || home.empty() ||
      filesystem.home != HomeMode::kPrivate) {
    return std::nullopt;
  }
  for (const char* name : {"/.gitconfig", "/.config/git/config"}) {
    const Result<std::string> text = read_file(home + name, std::size_t{256} << 10);
    if (!text.ok()) continue;
    for (const GitSetting& setting : read_git_settings(text.value())) {
      const bool is_email = setting.section == "user" && setting.key == "email";
      const bool is_it = is_unknown ? is_email && setting.subsection.empty()
                                    : is_shareable(setting) && asks_for(request, setting);
      if (!is_it) continue;
      return Denial{
          Refuser::kMount, "open", home + name, 1, "git", "filesystem.git_config = \"user\""};
    }
  }
  return std::nullopt;
}

std::optional<Denial> refused_git_upkeep(const View& view, std::string_view printed) {
  struct Words {
    std::string_view begin;
    std::string_view end;
    const char* operation;
  };
  // The upkeep of another worktree; a new one, whose directory is to be made.
  static constexpr Words kWords[] = {
      {"Unable to create '", "/HEAD.lock': Read-only file system", "open"},
      {"could not create directory of '", "': Read-only file system", "mkdir"}};
  for (const Words& words : kWords) {
    const std::size_t end = printed.find(words.end);
    std::size_t begin = printed.substr(0, end).rfind(words.begin);
    if (end == printed.npos || begin == printed.npos) continue;
    begin += words.begin.size();
    // Whatever was printed, nothing is granted but a worktree's directory, or the one of all of
    // them, in a repository that is shown read-only.
    const std::string path(printed.substr(begin, end - begin));
    const std::string holder = path.substr(0, path.rfind('/'));
    const ViewRoot* const root = deepest_at(view.roots, path, &ViewRoot::path);
    const bool is_made = words.operation == kWords[0].operation;
    const std::string& place = is_made ? path : holder;
    struct stat info {};
    if (guard::resolve_path(path, "/") == path && holder.ends_with("/worktrees") &&
        root != nullptr && root->is_git && root->access == Access::kReadOnly &&
        stat(place.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      return Denial{
          Refuser::kMount, words.operation, path, 1, "git", root_grant(std::span(&place, 1), "rw")};
    }
  }
  return std::nullopt;
}

}  // namespace sbx
