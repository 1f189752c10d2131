// SPDX-License-Identifier: Apache-2.0
// gitrepository-layout(5), gitworktrees and gitsubmodules, as far as paths go. What may be written
// of another checkout's repository is a short list; whatever else is found there is read-only.
#include "host/git_outside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/paths.h"
#include "base/text.h"
#include "guard/places.h"
#include "host/git_files.h"
#include "host/looks.h"
#include "host/protect.h"
#include "model/grant.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxText = std::size_t{256} << 10;
constexpr std::size_t kMaxAlternates = 64;
constexpr std::size_t kMaxIncludes = 64;
constexpr std::size_t kMaxSettings = 4096;
constexpr std::size_t kMostHeld = 256;  // worktrees: with more, none can be written

// Of a repository that another checkout has as its own: what commits and their upkeep write.
constexpr auto kShared =
    std::to_array<std::string_view>({"objects", "refs", "logs", "packed-refs", "packed-refs.new",
                                     "shallow", "lfs", "rr-cache", "reftable", "gc.pid", "gc.log"});

// Those that would lead another checkout elsewhere, or run there. Where there is none, an empty
// directory in its place is nothing to git.
constexpr auto kHeld = std::to_array<std::string_view>({"hooks", "info", "modules", "worktrees"});
// And those that git would stumble over: named where they come to be.
constexpr auto kNamed = std::to_array<std::string_view>({"HEAD", "index", "config"});

// The first line of a small regular file; empty where there is none.
std::string first_line(const std::string& path) {
  if (node_at(path).kind != NodeKind::kFile) return "";
  const Result<std::string> text = read_file(path, PATH_MAX);
  if (!text.ok()) return "";
  return text.value().substr(0, text.value().find_first_of(std::string_view("\n\r\0", 3)));
}

// A path of git's, which is relative to `base`, without symlinks; empty where nothing is.
std::string resolve(const std::string& path, const std::string& base) {
  if (path.empty()) return "";
  Result<std::string> real = real_path(path.front() == '/' ? path : join_path(base, path));
  return real.ok() ? std::move(real).value() : "";
}

// What git finds these in is a repository, wherever they lie.
constexpr auto kParts = std::to_array<std::string_view>({"HEAD", "objects", "refs"});

bool is_repository(const std::string& path) {
  const auto kind = [&](std::string_view name) { return node_at(join_path(path, name)).kind; };
  const auto is_directory = [&](std::string_view name) {
    return kind(name) == NodeKind::kDirectory || kind(name) == NodeKind::kLink;
  };
  return kind("HEAD") != NodeKind::kMissing && ((is_directory("objects") && is_directory("refs")) ||
                                                kind(kGitCommonDirectory) == NodeKind::kFile);
}

const ViewRoot* root_of(const View& view, std::string_view path) {
  return deepest_at(view.roots, path, &ViewRoot::path);
}

// Where git, started in `workspace`, finds a `.git`: its own, or one above.
struct Found {
  std::string top;             // the work tree
  std::string directory = {};  // with HEAD and index
  std::string common = {};     // with objects, refs and configuration
  std::string named = {};      // what the `.git` file leads to, as it is written
  bool is_file = false;
  bool is_ours = true;  // the repository names the work tree
};

// Of a linked worktree, `gitdir` names its `.git` file; of a submodule, core.worktree its top.
bool names_work_tree(const Found& found) {
  if (found.directory != found.common) {
    const std::string back = first_line(join_path(found.directory, "gitdir"));
    return parent_of(found.directory) == join_path(found.common, "worktrees") &&
           resolve(back, found.directory) == join_path(found.top, ".git");
  }
  const Result<std::string> text = read_file(join_path(found.directory, "config"), kMaxText);
  if (!text.ok()) return false;
  const std::optional<std::string> work_tree = read_git_config(text.value()).work_tree;
  return work_tree && resolve(*work_tree, found.directory) == found.top;
}

Found follow(const std::string& top) {
  Found found{.top = top, .is_file = true};
  const std::string line = first_line(join_path(top, ".git"));
  if (!line.starts_with(kGitFilePrefix)) return found;
  found.named = line.substr(kGitFilePrefix.size());
  if (!found.named.starts_with('/')) found.named = join_path(top, found.named);
  found.directory = resolve(found.named, top);
  const std::string common =
      found.directory.empty() ? "" : first_line(join_path(found.directory, kGitCommonDirectory));
  found.common = common.empty() ? found.directory : resolve(common, found.directory);
  found.is_ours = !found.common.empty() && is_repository(found.common) && names_work_tree(found);
  return found;
}

std::optional<Found> find_repository(const std::string& workspace) {
  for (std::string at = workspace;; at = parent_of(at)) {
    const std::string name = join_path(at, ".git");
    const Node node = node_at(name);
    if (node.kind == NodeKind::kDirectory && is_repository(name)) {
      return Found{.top = at, .directory = name, .common = name};
    }
    if (node.kind == NodeKind::kFile) return follow(at);
    if (node.kind == NodeKind::kLink) {
      // What it leads to names nobody.
      return Found{.top = at, .named = name, .is_file = true, .is_ours = false};
    }
    if (at == "/") return std::nullopt;
  }
}

class Adder {
 public:
  Adder(const Found& found, Access access, View& view)
      : found_(found), access_(access), view_(view) {}

  Status run() {
    const bool is_linked = found_.directory != found_.common;
    if (found_.is_file) show(join_path(found_.top, ".git"), Access::kReadOnly);
    if (!is_shown(found_.common)) {
      show(found_.common, access_);
      if (access_ == Access::kReadWrite) {
        if (is_linked) {
          SBX_CHECK_OK(hold_checkout());
        } else {
          SBX_CHECK_OK(protect_git_directory(view_.roots, found_.common, view_.protects));
        }
      }
    }
    if (is_linked && access_ == Access::kReadWrite && root_of(view_, found_.directory)->is_git) {
      show_again(found_.directory);
      SBX_CHECK_OK(protect_git_directory(view_.roots, found_.directory, view_.protects));
      return protect_path(view_.roots, join_path(found_.directory, "gitdir"), view_.protects);
    }
    return {};
  }

 private:
  bool is_shown(const std::string& path) const { return root_of(view_, path) != nullptr; }

  void show(const std::string& path, Access access) {
    if (!is_shown(path)) show_again(path, access);
  }
  void show_again(const std::string& path, Access access = Access::kReadWrite) {
    Node node = node_at(path);
    const bool is_plain = node.kind == NodeKind::kDirectory || node.kind == NodeKind::kFile;
    if (!is_plain) return;
    view_.git_shown.push_back(path);
    view_.roots.push_back({std::move(node), access, "git", false, true});
  }

  // All but what is shared: another checkout's HEAD, index, hooks and settings, other worktrees.
  Status hold_checkout() {
    Listing listing(found_.common);
    std::size_t count = 0;
    while (const dirent* entry = listing.next()) {
      const std::string_view name = entry->d_name;
      if (++count > kMaxEntries) break;
      // Those of another git that runs come and go.
      if (name.ends_with(".lock")) continue;
      if (std::find(kShared.begin(), kShared.end(), name) != kShared.end()) continue;
      Node node = node_at(join_path(found_.common, name));
      // The policy has its own word on it.
      if (root_of(view_, node.path)->node.path == node.path) continue;
      if (node.kind == NodeKind::kDirectory || node.kind == NodeKind::kFile) {
        view_.roots.push_back({std::move(node), Access::kReadOnly, "git", false, true});
      } else if (node.kind == NodeKind::kLink) {
        view_.protects.push_back({found_.common, std::move(node), {}});
      }
    }
    if (!listing.is_open() || errno != 0 || count > kMaxEntries) {
      return Error{ErrorCode::kPathRefused,
                   "cannot list the repository of this worktree: " + found_.common, "git",
                   "see that it can be read and holds no more than 4096 entries", errno};
    }
    const bool can_make = faccessat(AT_FDCWD, found_.common.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
    for (const std::string_view name : kHeld) hold_place(name, !can_make);
    for (const std::string_view name : kNamed) hold_place(name, true);
    hold_place(kGitWorktreeSettings, !can_make || goes_by_worktree_settings());
    hold_place(kGitCommonDirectory, true);
    return {};
  }

  // Nothing is to come where nothing is.
  void hold_place(std::string_view name, bool is_only_reported) {
    Node node = node_at(join_path(found_.common, name));
    if (node.kind != NodeKind::kMissing && !is_stub(node.path)) return;
    node.kind = NodeKind::kMissing;
    const bool leads_git = name == kGitCommonDirectory;
    view_.protects.push_back({.root = found_.common,
                              .node = std::move(node),
                              .report_missing = is_only_reported,
                              .leads_git = leads_git});
  }

  bool goes_by_worktree_settings() const {
    const Result<std::string> text = read_file(join_path(found_.common, "config"), kMaxText);
    return !text.ok() || read_git_config(text.value()).has_worktree_settings;
  }

  const Found& found_;
  const Access access_;
  View& view_;
};

// Another worktree's HEAD, index and logs, which a command's git would prune: it takes for gone
// what is not shown. Whether it is there is not looked at: who names it may be a command. Errors:
// kPathRefused.
Status hold_worktrees(const Policy& policy, const std::string& common, View& view) {
  if (policy.sandbox.filesystem.base == Base::kHost) return {};
  const std::string top = join_path(common, "worktrees");
  const auto is_shown = [&](const std::string& path) {
    const ViewRoot* const root = root_of(view, path);
    return root != nullptr && root->access != Access::kNone;
  };
  std::vector<Node> held;
  Listing listing(top);
  if (!listing.is_open() && is_missing(errno)) return {};
  while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
    Node node = node_at(join_path(top, entry->d_name));
    const ViewRoot* const root = root_of(view, node.path);
    const bool is_writable = root != nullptr && root->access == Access::kReadWrite;
    // The policy has its own word on what is a root by itself.
    if (!is_writable || root->node.path == node.path || node.kind != NodeKind::kDirectory) continue;
    const std::string file = first_line(join_path(node.path, "gitdir"));
    if (file.empty() || !is_shown(guard::resolve_path(file, node.path)))
      held.push_back(std::move(node));
  }
  if (!listing.is_open() || errno != 0) {
    return Error{ErrorCode::kPathRefused, "cannot be listed: " + top, "git",
                 "see that it can be read", errno};
  }
  if (held.size() > kMostHeld) held = {node_at(top)};
  for (Node& node : held) {
    view.roots.push_back({std::move(node), Access::kReadOnly, "git", false, true});
  }
  return {};
}

void deny(View& view, std::string operation, std::string target, std::string grant) {
  const auto is_it = [&](const Denial& known) {  // two remotes may be one
    return known.operation == operation && known.target == target;
  };
  if (std::any_of(view.git_denied.begin(), view.git_denied.end(), is_it)) return;
  view.git_denied.push_back(
      {Refuser::kMount, std::move(operation), std::move(target), 1, "git", std::move(grant)});
}

// What git reads besides and does not find, without a word. Whether it is there is not told.
void name_unless_shown(std::string_view operation, const std::string& path, const std::string& base,
                       const Policy& policy, View& view) {
  const std::string real = resolve(path, base);
  const std::string& place = real.empty() ? path : real;
  const ViewRoot* root = root_of(view, place);
  const auto holds = [&](const Node& node) { return is_below(place, node.path); };
  const bool is_systems = policy.sandbox.filesystem.base == Base::kHost ||
                          is_below(place, "/etc") || is_below(place, "/dev") ||
                          is_below(place, "/proc") ||
                          std::any_of(view.system.begin(), view.system.end(), holds);
  const bool shows = root == nullptr ? is_systems : root->access != Access::kNone;
  if (!shows) deny(view, std::string(operation), path, root_grant(std::span(&path, 1), "ro"));
}

// Keys whose value is the path of a file or directory.
constexpr std::pair<std::string_view, std::string_view> kPathKeys[] = {{"core", "hookspath"},
                                                                       {"core", "excludesfile"},
                                                                       {"core", "attributesfile"},
                                                                       {"commit", "template"}};

// The path of one that is no URL of ssh's or another protocol's (git-fetch(1), GIT URLS); else
// empty.
std::string local_path(const std::string& url) {
  constexpr std::string_view kFile = "file://";
  if (url.starts_with(kFile)) return url.substr(kFile.size());
  return url.find(':') == url.npos && !url.starts_with('~') ? url : "";
}

// What the configuration leads to: settings in other files, hooks, repositories. What begins with
// `~` is the private home's, which has none.
void name_settings(const Found& found, const Policy& policy, View& view) {
  const std::string config = join_path(found.common, "config");
  if (node_at(config).kind != NodeKind::kFile) return;
  const Result<std::string> text = read_file(config, kMaxText);
  if (!text.ok()) return;
  const auto name = [&](std::string_view operation, const std::string& path,
                        const std::string& base) {
    if (path.empty() || path.front() == '~' || path.front() == '%') return;
    name_unless_shown(operation, guard::resolve_path(path, base), base, policy, view);
  };
  GitConfigPaths paths = read_git_config(text.value());
  const std::string work_tree = paths.work_tree.value_or(found.top);
  // A workspace below the top is told nothing of what is above.
  if (resolve(work_tree, found.common) != found.top) name(kGitOutside, work_tree, found.common);
  std::vector<std::string>& includes = paths.includes;
  if (includes.size() > kMaxIncludes) includes.resize(kMaxIncludes);
  for (const std::string& path : includes) name(kGitInclude, path, found.common);
  std::size_t count = 0;
  for (const GitSetting& setting : read_git_settings(text.value())) {
    if (!setting.value || ++count > kMaxSettings) continue;
    const std::pair<std::string_view, std::string_view> key{setting.section, setting.key};
    if (std::find(std::begin(kPathKeys), std::end(kPathKeys), key) != std::end(kPathKeys)) {
      name(kGitSetting, *setting.value, found.top);
    } else if (setting.section == "remote" && setting.key == "url") {
      name(kGitRemote, local_path(*setting.value), found.top);
    }
  }
}

// Objects that lie in another repository.
void name_alternates(const std::string& objects, const Policy& policy, View& view) {
  const std::string path = join_path(objects, "info/alternates");
  if (node_at(path).kind != NodeKind::kFile) return;
  const Result<std::string> text = read_file(path, kMaxText);
  if (!text.ok()) return;
  std::size_t count = 0;
  for (const std::string_view line : split(text.value(), '\n')) {
    if (line.empty() || line.front() == '#' || ++count > kMaxAlternates) continue;
    name_unless_shown("git_alternates", guard::resolve_path(line, objects), objects, policy, view);
  }
}

// The parts of the repository that lie elsewhere.
void name_parts(const Found& found, const Policy& policy, View& view) {
  const auto name = [&](const std::string& path, const std::string& base) {
    if (!path.empty()) {
      name_unless_shown(kGitOutside, guard::resolve_path(path, base), base, policy, view);
    }
  };
  for (const std::string_view part : kParts) {
    const std::string path = join_path(found.common, part);
    if (node_at(path).kind == NodeKind::kLink) name(Looks().link(path), found.common);
  }
  // That of a linked worktree was followed.
  if (found.directory == found.common) {
    name(first_line(join_path(found.common, kGitCommonDirectory)), found.common);
  }
}

}  // namespace

bool is_shared_in_git(std::string_view name) {
  return std::find(kShared.begin(), kShared.end(), name) != kShared.end();
}

Status add_git_outside(const Policy& policy, View& view) {
  const std::string& workspace = policy.sandbox.workspace;
  const ViewRoot* root = root_of(view, workspace);
  if (root == nullptr || root->access == Access::kNone || root->node.path == "/" ||
      root->node.kind != NodeKind::kDirectory ||
      policy.run.workspace.mode == WorkspaceMode::kFresh) {
    return {};
  }
  const std::optional<Found> found = find_repository(workspace);
  if (!found) return {};
  if (!found->is_ours) {
    // A symlink within, one that leads nowhere, or what a root shows, needs nothing more.
    const std::string real = resolve(found->named, found->top);
    const bool is_nowhere = real.empty() && node_at(found->named).kind == NodeKind::kLink;
    const bool is_known =
        found->named.empty() || is_nowhere || (!real.empty() && root_of(view, real) != nullptr);
    if (!is_known) {
      // No root is a symlink, or has `..` in it. Where it leads on from there is not told.
      const std::string own = join_path(found->top, ".git");
      const std::string text = found->named == own ? Looks().link(own) : found->named;
      const std::string led_to = guard::resolve_path(text, found->top);
      deny(view, std::string(kGitOutside), found->named,
           "it does not name " + found->top + " as its work tree: git worktree repair there, or " +
               root_grant(std::span(&led_to, 1), "rw"));
    }
    return {};
  }
  const ViewRoot* holder = root_of(view, found->common);
  if (holder != nullptr && holder->access == Access::kNone) {
    deny(view, std::string(kGitOutside), found->common,
         "show it: it is hidden by " + holder->where);
    return {};
  }
  SBX_CHECK_OK(Adder(*found, root->access, view).run());
  SBX_CHECK_OK(hold_worktrees(policy, found->common, view));
  name_parts(*found, policy, view);
  name_alternates(join_path(found->common, "objects"), policy, view);
  name_settings(*found, policy, view);
  view.git_is_above = found->top != workspace && !view.git_shown.empty();
  return {};
}

}  // namespace sbx
