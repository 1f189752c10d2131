// SPDX-License-Identifier: Apache-2.0
// Checked as they are found: a root that leads elsewhere, or cannot be shown, is refused.
#include "host/view_roots.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/paths.h"
#include "host/facts.h"
#include "host/fifos.h"
#include "host/git_outside.h"
#include "host/layer_places.h"
#include "host/narrow_view.h"
#include "host/protect.h"
#include "host/shut.h"
#include "profile/forms.h"

namespace sbx {
namespace {

bool is_from_a_flag(const Root& root) { return root.where.starts_with("--"); }

Error no_such_root(const Root& root) {
  return Error{ErrorCode::kPathNotFound, "no such path: " + root.path, root.where,
               is_from_a_flag(root) ? "create it, or leave the flag out"
                                    : "create it, mark it \"optional\": true, or remove it",
               ENOENT};
}

class Roots {
 public:
  Roots(const Policy& policy, bool has_mounts, Expansions* expansions, Looks& looks, View& view)
      : policy_(policy),
        has_mounts_(has_mounts),
        expansions_(expansions),
        looks_(looks),
        view_(view) {}

  Status run() {
    note_own_files();
    SBX_CHECK_OK(add_roots());
    SBX_CHECK_OK(add_caches());
    SBX_CHECK_OK(add_git_outside(policy_, view_));
    hide_layers();
    narrow_view(policy_, view_);
    hold_own();
    hide_closed();
    keep_noexec();
    SBX_CHECK_OK(check_workspace());
    for (const ViewRoot& root : view_.roots) {
      if (root.is_git || root.access != Access::kReadWrite ||
          root.node.kind != NodeKind::kDirectory)
        continue;
      for (const Protect& protect : policy_.sandbox.filesystem.protect) {
        SBX_CHECK_OK(add_protected(root, protect));
      }
    }
    lift_protection();
    for (const ViewRoot& root : view_.roots) {
      if (root.is_git || root.access != Access::kReadWrite ||
          root.node.kind != NodeKind::kDirectory) {
        continue;
      }
      // What goes with the run rules no other.
      const bool is_fresh = policy_.run.workspace.mode == WorkspaceMode::kFresh;
      if (is_fresh && root.node.path == policy_.sandbox.workspace) continue;
      SBX_CHECK_OK(protect_own(view_.roots, root.node.path, kProjectSettings, view_.protects));
    }
    for (const auto& [root, name] : unmade_layers_) {
      SBX_CHECK_OK(protect_own(view_.roots, root, name, view_.protects));
    }
    SBX_CHECK_OK(hold_missing_of_managed());
    for (const std::string& path : policy_.run.own_files) {
      SBX_CHECK_OK(protect_path(view_.roots, path, view_.protects));
    }
    // A symlink on the way to a narrower root, turned elsewhere, would uncover it in the next run.
    for (const Root& root : policy_.sandbox.filesystem.roots) {
      if (root.pattern_at != 0) continue;
      const bool is_narrow = root.access != Access::kReadWrite || root.noexec;
      if (is_narrow && root.path != "/" && looks_.with_real_parent(root.path) != root.path) {
        SBX_CHECK_OK(protect_path(view_.roots, root.path, view_.protects));
      }
    }
    find_other_names_of_held();
    // Elsewhere another's root is root's own inside.
    const bool is_as_another = has_mounts_ && !policy_.sandbox.filesystem.overlay;
    if (is_as_another && policy_.sandbox.layer.empty()) protect_shut(view_);
    return {};
  }

 private:
  // Layers of workspaces on the same mount: their commits go by what lies there.
  void hide_layers() {
    std::vector<ViewRoot> found;
    for (const std::string& top : mount_points(false)) {
      const ViewRoot* const root = deepest_at(view_.roots, top, &ViewRoot::path);
      if (root == nullptr || root->access != Access::kReadWrite ||
          looks_.at(top).kind != NodeKind::kDirectory) {
        continue;
      }
      const std::string place = layers_beside(top);
      own_files_.push_back(place);
      Node node = looks_.at(place);
      if (node.kind == NodeKind::kMissing || is_stub(place)) {
        const bool is_closed = faccessat(AT_FDCWD, top.c_str(), W_OK | X_OK, AT_EACCESS) != 0;
        if (is_closed && top != root->path()) continue;
        const std::size_t start = root->path() == "/" ? 1 : root->path().size() + 1;
        unmade_layers_.emplace_back(root->path(), place.substr(start));
      } else {
        found.push_back({std::move(node), Access::kNone, kSessionPlaces});
      }
    }
    view_.roots.insert(view_.roots.end(), found.begin(), found.end());
  }

  // What stands for a root where writes are kept apart is a mount of its own, also where a run may
  // only read what others wrote.
  void keep_noexec() {
    if (!policy_.sandbox.filesystem.overlay) return;
    for (ViewRoot& root : view_.roots) {
      if (root.access != Access::kNone && lies_on_noexec(root.path())) root.noexec = true;
    }
  }

  // Covered once it is there, what a command had made at once would stay on the host.
  Status hold_missing_of_managed() {
    for (const ViewRoot& root : view_.absent) {
      const ViewRoot* const holder = deepest_at(view_.roots, root.path(), &ViewRoot::path);
      if (!root.is_managed || holder == nullptr || holder->access != Access::kReadWrite) continue;
      const std::size_t start = holder->path() == "/" ? 1 : holder->path().size() + 1;
      SBX_CHECK_OK(
          protect_own(view_.roots, holder->path(), root.path().substr(start), view_.protects));
    }
    return {};
  }

  // Else what is looked for in it would be named.
  Status check_workspace() const {
    const std::string& path = policy_.sandbox.workspace;
    const bool is_root =
        std::any_of(view_.roots.begin(), view_.roots.end(), [&](const ViewRoot& root) {
          return root.path() == path && root.node.kind == NodeKind::kDirectory &&
                 root.access == Access::kReadWrite;
        });
    if (!is_root || faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0) return {};
    return call_failed(ErrorCode::kPathRefused, "the workspace " + path + " cannot be entered",
                       path, "choose another with --workspace");
  }

  // A file that a root of its own makes writable, within a writable directory, is no mount point:
  // who saves it puts another in its place.
  void lift_protection() {
    std::vector<std::string> lifted;
    for (const ViewRoot& root : view_.roots) {
      if (root.is_git || root.access != Access::kReadWrite || root.node.kind != NodeKind::kFile) {
        continue;
      }
      const ViewRoot* holder = nullptr;
      for (const ViewRoot& other : view_.roots) {
        const bool holds = &other != &root && is_below(root.node.path, other.node.path);
        if (holds && (holder == nullptr || is_below(other.node.path, holder->node.path))) {
          holder = &other;
        }
      }
      // In a protected directory it is writable because it is a mount point.
      const auto is_held_above = [&](const ViewProtect& protect) {
        return protect.node.kind == NodeKind::kDirectory &&
               is_below(root.node.path, protect.node.path);
      };
      if (holder != nullptr && holder->access == Access::kReadWrite &&
          holder->noexec == root.noexec &&
          std::none_of(view_.protects.begin(), view_.protects.end(), is_held_above)) {
        lifted.push_back(root.node.path);
      }
    }
    for (const std::string& path : lifted) {
      std::erase_if(view_.roots, [&](const ViewRoot& root) { return root.node.path == path; });
    }
    view_.lifted = std::move(lifted);
  }

  // Within what sbx keeps, or holds for the run, however that is named.
  bool is_own(const std::string& path) const {
    const auto& roots = policy_.sandbox.filesystem.roots;
    return std::any_of(roots.begin(), roots.end(),
                       [&](const Root& root) {
                         return root.where == kSessionPlaces && is_below(path, root.path);
                       }) ||
           std::any_of(own_files_.begin(), own_files_.end(),
                       [&](const std::string& file) { return is_below(path, file); });
  }

  // What steers or records runs is written by no command, whatever root is at it or within it.
  void hold_own() {
    for (ViewRoot& root : view_.roots) {
      const bool is_held =
          std::any_of(own_files_.begin(), own_files_.end(),
                      [&](const std::string& file) { return is_below(root.node.path, file); });
      if (is_held && root.access == Access::kReadWrite) root.access = Access::kReadOnly;
    }
  }

  void note_own_files() {
    for (const std::string& file : policy_.run.own_files) {
      for (const Result<std::string>& name : {normal_path(file, "/", ""), real_path(file)}) {
        if (name.ok()) own_files_.push_back(name.value());
      }
    }
  }

  Result<std::vector<std::string>> expand(const Glob& glob, const std::string& where) {
    return expansions_ == nullptr ? expand_glob(glob, where) : expansions_->of(glob, where);
  }

  // Directories below `base` that are hidden with all that they hold.
  std::set<std::string> hidden_below(const std::string& base) {
    if (!wholly_hidden_) find_wholly_hidden();
    std::set<std::string> out;
    for (const std::string& path : *wholly_hidden_) {
      if (is_below(path, base)) out.insert(path);
    }
    return out;
  }

  void find_wholly_hidden() {
    wholly_hidden_.emplace();
    std::vector<std::pair<std::string, bool>> shown;  // where roots begin, and whether by a pattern
    for (const Root& root : policy_.sandbox.filesystem.roots) {
      if (root.access == Access::kNone) continue;
      const Result<std::string> real = real_path(root.head());
      shown.emplace_back(real.ok() ? real.value() : looks_.with_real_parent(root.head()),
                         root.pattern_at != 0);
    }
    for (const Root& root : policy_.sandbox.filesystem.roots) {
      const bool is_whole = std::none_of(shown.begin(), shown.end(), [&](const auto& other) {
        return is_below(other.first, root.path) ||
               (other.second && is_below(root.path, other.first));
      });
      const bool is_hidden = root.access == Access::kNone && root.pattern_at == 0;
      if (is_hidden && is_whole) wholly_hidden_->push_back(root.path);
    }
  }

  bool names_exactly(const std::string& path) const {
    const auto& roots = policy_.sandbox.filesystem.roots;
    return std::any_of(roots.begin(), roots.end(),
                       [&](const Root& root) { return root.pattern_at == 0 && root.path == path; });
  }

  // Each path that matches, as a root of its own: whatever the order, one that is named is more
  // specific.
  Status add_pattern(const Root& root, std::vector<Root>& out) {
    const std::string head = root.head();
    const Result<std::string> base = real_path(head);
    if (!base.ok()) {
      const int error = base.error().sys_errno;
      const bool is_closed = error == EACCES && is_closed_to_us(head);
      if (is_missing(error) || is_closed) return {};
      return call_failed(ErrorCode::kPathRefused, "cannot be looked at: " + head, root.where,
                         "name a directory that can be searched", error);
    }
    const bool may_miss = root.access == Access::kReadWrite;
    View::Pattern pattern{{base.value(), root.path.substr(root.pattern_at)},
                          root.access == Access::kNone};
    if (may_miss) pattern.glob.unlisted = Unlisted::kPassedOver;
    if (pattern.hides) pattern.glob.hidden = hidden_below(base.value());
    SBX_TRY(pattern.matches, expand(pattern.glob, root.where));
    for (const std::string& match : pattern.matches) {
      Root one = root;
      one.path = join_path(pattern.glob.base, match);
      one.pattern_at = 0;
      one.optional = true;
      if (names_exactly(one.path) || (!pattern.hides && is_own(one.path))) continue;
      const NodeKind kind = node_at(one.path).kind;
      const bool is_shown = kind == NodeKind::kDirectory || kind == NodeKind::kFile;
      if (pattern.hides || is_shown) out.push_back(std::move(one));
    }
    if (!may_miss) view_.patterns.push_back(std::move(pattern));
    return {};
  }

  Status add_protected(const ViewRoot& root, const Protect& protect) {
    if (!forms::is_glob(protect.path)) {
      return resolve_protect(view_.roots, root.node, protect, view_.protects);
    }
    View::Pattern pattern{{root.node.path, protect.path, hidden_below(root.node.path)}, false};
    SBX_TRY(pattern.matches, expand(pattern.glob, protect.where));
    for (const std::string& match : pattern.matches) {
      const Protect one{match, Missing::kReport, protect.where};
      SBX_CHECK_OK(resolve_protect(view_.roots, root.node, one, view_.protects));
    }
    view_.patterns.push_back(std::move(pattern));
    return {};
  }

  Status add_caches() {
    for (const auto& [name, cache] : policy_.sandbox.caches) {
      Node node = looks_.at(cache.source);
      // A run makes it before it looks; who only explains one makes nothing.
      if (node.kind == NodeKind::kMissing) node.kind = NodeKind::kDirectory;
      if (node.kind != NodeKind::kDirectory) {
        return Error{ErrorCode::kPathNotFound, "the cache is no directory: " + cache.source,
                     "/caches/" + name, "remove it"};
      }
      view_.caches.emplace_back(cache.path, std::move(node));
    }
    return {};
  }

  Status add_roots() {
    std::vector<Root> roots;
    for (const Root& root : policy_.sandbox.filesystem.roots) {
      if (root.pattern_at == 0) {
        roots.push_back(root);
      } else {
        SBX_CHECK_OK(add_pattern(root, roots));
      }
    }
    std::set<std::string> seen;
    for (const Root& root : roots) {
      const bool is_again = seen.contains(root.path);
      if (is_again && roots.size() != policy_.sandbox.filesystem.roots.size()) continue;
      const std::string path = root.path == "/" ? root.path : looks_.with_real_parent(root.path);
      Node node = looks_.at(path);
      SBX_CHECK_OK(looks_.failure());
      if (node.kind == NodeKind::kMissing) {
        // An earlier command may have closed the directory, and a later one may open it again.
        if (errno == EACCES && lies_in_writable(path)) return look_failed("lstat", path, EACCES);
        if (root.optional) {
          node.path = path;
          if (root.access != Access::kReadWrite) {
            view_.absent.push_back({std::move(node), root.access, root.where, root.noexec});
          }
          continue;
        }
        return no_such_root(root);
      }
      // A dotfile that is kept elsewhere: nothing of it shows, and nothing inside can make it.
      if (node.kind == NodeKind::kLink && root.optional && root.access == Access::kReadOnly &&
          !lies_in_writable(path) && !lies_in_writable(root.path)) {
        view_.left_out.push_back({path, looks_.link(path)});
        continue;
      }
      SBX_CHECK_OK(check_root(root, node));
      SBX_CHECK_OK(check_stays(root, node));
      seen.insert(node.path);
      if (node.path != root.path && root.access != Access::kNone) {
        view_.led_to.push_back({root.path, node.path});
      }
      view_.roots.push_back({std::move(node), root.access, root.where, root.noexec});
      view_.roots.back().owner = other_owner(view_.roots.back());
    }
    hide_link_targets();
    find_other_names();
    return has_mounts_ ? hide_fifos(view_.roots) : Status();
  }

  // What a directory that is closed to this user may hold is not there inside either, also where it
  // is opened meanwhile: the directory is hidden as a whole.
  void hide_closed() {
    std::erase_if(view_.absent, [&](const ViewRoot& root) {
      const bool is_there = looks_.at(root.node.path).kind != NodeKind::kMissing;
      if (is_there || errno != EACCES) return false;
      const Result<std::string> closed = real_path(nearest_there(root.node.path));
      if (!closed.ok()) return false;
      const auto same = [&](const ViewRoot& known) { return known.node.path == closed.value(); };
      const auto known = std::find_if(view_.roots.begin(), view_.roots.end(), same);
      if (known != view_.roots.end()) {
        known->access = Access::kNone;
      } else {
        view_.roots.push_back({looks_.at(closed.value()), Access::kNone, root.where});
      }
      return true;
    });
  }

  // Whom root would have to be to do there what root may do outside.
  static std::optional<Owner> other_owner(const ViewRoot& root) {
    struct stat info {};
    if (geteuid() != 0 || root.access == Access::kNone ||
        lstat(root.node.path.c_str(), &info) != 0) {
      return std::nullopt;
    }
    const bool is_open = root.access == Access::kReadWrite && (info.st_mode & S_IWOTH) != 0;
    if (info.st_uid == 0 || is_open || S_ISSOCK(info.st_mode)) return std::nullopt;
    return Owner{info.st_uid, info.st_gid};
  }

  bool lies_in_writable(const std::string& path) const {
    const auto& roots = policy_.sandbox.filesystem.roots;
    return std::any_of(roots.begin(), roots.end(), [&](const Root& root) {
      return root.access == Access::kReadWrite && root.path != path && is_below(path, root.path);
    });
  }

  // A hidden symlink hides what it leads to as well, where a root shows that and none lies below;
  // always where a secret comes from there.
  void hide_link_targets() {
    std::vector<ViewRoot> more;
    std::set<std::string> all;
    std::set<std::string> shown;
    for (const ViewRoot& root : view_.roots) {
      all.insert(root.node.path);
      if (root.access != Access::kNone) shown.insert(root.node.path);
    }
    const auto is_shown = [&](std::string path) {
      while (!shown.contains(path) && path != "/")
        path.resize(std::max<std::size_t>(path.rfind('/'), 1));
      return shown.contains(path);
    };
    const auto holds_roots = [&](const std::string& path) {
      const auto next = all.lower_bound(path == "/" ? path : path + "/");
      return all.contains(path) || (next != all.end() && is_below(*next, path));
    };
    for (const ViewRoot& root : view_.roots) {
      if (root.node.kind != NodeKind::kLink) continue;
      const Result<std::string> real = real_path(root.node.path);
      if (!real.ok()) {
        const int error = real.error().sys_errno;
        if (!is_missing(error) && error != EACCES && error != ELOOP) {
          looks_.fail("realpath", root.node.path, error);
        }
        const std::string later = is_missing(error) ? real_destination(root.node.path) : "";
        if (!later.empty() && (is_secret_source(root.where) || is_shown(later))) {
          view_.absent.push_back({looks_.at(later), Access::kNone, root.where});
        }
        continue;
      }
      const std::string& target = real.value();
      if (is_secret_source(root.where) || (is_shown(target) && !holds_roots(target))) {
        more.push_back({looks_.at(target), Access::kNone, root.where});
      }
    }
    view_.roots.insert(view_.roots.end(), more.begin(), more.end());
  }

  // A file is hidden by its name; that another leads to it is not known, but how many there are.
  void find_other_names() {
    for (const ViewRoot& root : view_.roots) {
      struct stat info {};
      const auto is_hidden_name = [&](const ViewRoot& other) {
        return other.access == Access::kNone && other.node.dev == root.node.dev &&
               other.node.ino == root.node.ino;
      };
      if (root.node.kind != NodeKind::kFile || !is_hidden_name(root) ||
          lstat(root.path().c_str(), &info) != 0 || info.st_nlink < 2) {
        continue;
      }
      const auto names = std::count_if(view_.roots.begin(), view_.roots.end(), is_hidden_name);
      if (static_cast<nlink_t>(names) < info.st_nlink) view_.seen_elsewhere.push_back(root.path());
    }
  }

  // Of one that is protected likewise.
  void find_other_names_of_held() {
    for (const ViewProtect& protect : view_.protects) {
      struct stat info {};
      if (protect.node.kind != NodeKind::kFile || lstat(protect.node.path.c_str(), &info) != 0 ||
          info.st_nlink < 2) {
        continue;
      }
      const auto is_it = [&](const ViewProtect& other) {
        return other.node.dev == protect.node.dev && other.node.ino == protect.node.ino;
      };
      const auto names = std::count_if(view_.protects.begin(), view_.protects.end(), is_it);
      if (static_cast<nlink_t>(names) < info.st_nlink) {
        view_.held_by_name.push_back(protect.node.path);
      }
    }
  }

  // What lies in a writable root may have been planted by an earlier command: a root below one must
  // not have been led out of it by a symlink on the way.
  Status check_stays(const Root& root, const Node& node) {
    for (const Root& holder : policy_.sandbox.filesystem.roots) {
      const bool within = holder.access == Access::kReadWrite && holder.path != root.path &&
                          is_below(root.path, holder.path);
      if (!within ||
          is_below(node.path, holder.path == "/" ? "/" : looks_.with_real_parent(holder.path))) {
        continue;
      }
      return Error{
          ErrorCode::kPathRefused,
          "a symlink leads out of the root " + holder.path + ": " + root.path + " is " + node.path,
          root.where, "name the target itself"};
    }
    return {};
  }

  Status check_root(const Root& root, const Node& node) {
    if (node.path == "/" && root.access == Access::kNone) {
      return Error{ErrorCode::kPathRefused, "/ cannot be hidden: nothing would be left to run",
                   root.where, "hide what lies below it, or choose a narrower filesystem.base"};
    }
    if (node.kind == NodeKind::kLink) {
      if (root.access == Access::kNone) return {};
      return Error{ErrorCode::kPathRefused,
                   "a root must not be a symlink: " + root.path + " -> " + looks_.link(node.path),
                   root.where, "name the target itself"};
    }
    const bool in_dev = is_below(node.path, "/dev") && !is_below(node.path, "/dev/shm");
    if (in_dev || node.path == "/dev/shm" || is_below(node.path, "/proc")) {
      return Error{ErrorCode::kPathRefused, "/dev and /proc are made anew inside: " + root.path,
                   root.where,
                   "they are no place to work in or to show; device nodes are listed in "
                   "filesystem.devices"};
    }
    const bool showable = node.kind == NodeKind::kDirectory || node.kind == NodeKind::kFile ||
                          node.kind == NodeKind::kSocket;
    if (!showable && root.access != Access::kNone) {
      return Error{ErrorCode::kPathRefused,
                   "a root must be a directory, a regular file or a socket: " + root.path,
                   root.where, "list device nodes in filesystem.devices"};
    }
    return {};
  }

  const Policy& policy_;
  const bool has_mounts_;
  Expansions* const expansions_;
  Looks& looks_;
  View& view_;
  std::vector<std::string> own_files_;
  std::optional<std::vector<std::string>> wholly_hidden_;  // roots, once a pattern asks for them
  std::vector<std::pair<std::string, std::string>> unmade_layers_;  // a root, and what is below it
};

}  // namespace

Status check_flag_roots(const Policy& policy) {
  for (const Root& root : policy.sandbox.filesystem.roots) {
    const bool is_named = is_from_a_flag(root) && root.pattern_at == 0 && !root.optional;
    const bool is_made_later = policy.run.workspace.mode == WorkspaceMode::kFresh &&
                               is_below(root.path, policy.sandbox.workspace);
    struct stat info {};
    if (is_named && !is_made_later && lstat(root.path.c_str(), &info) != 0 && is_missing(errno)) {
      return no_such_root(root);
    }
  }
  return {};
}

Status find_roots(const Policy& policy, bool has_mounts, Expansions* expansions, Looks& looks,
                  View& view) {
  return Roots(policy, has_mounts, expansions, looks, view).run();
}

}  // namespace sbx
