// SPDX-License-Identifier: Apache-2.0
// Policy → View: looks at the paths that a policy names. Reads only; what it finds is checked again
// by the child, by device and inode.
#include "host/view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/owned_fd.h"
#include "host/closure.h"
#include "host/denied.h"
#include "host/etc_private.h"
#include "host/facts.h"
#include "host/fifos.h"
#include "host/git_files.h"
#include "host/git_outside.h"
#include "host/globs.h"
#include "host/narrow_view.h"
#include "host/protect.h"
#include "policy/http.h"

namespace sbx {
namespace {

Error look_failed(const char* call, const std::string& path, int error) {
  return Error{ErrorCode::kPathRefused, std::string(call) + "(" + path + "): " + errno_text(error),
               path, "what is to be hidden or held there is not known: run again", error};
}

// Whether nothing is there: any other failure must not pass for that, since what is not known would
// not be hidden either.
bool is_missing(int error) { return error == ENOENT || error == ENOTDIR; }

// `failure` takes the first look that failed. What may not be searched is not there for a command
// of the same caller either; errno says so.
Node look(const std::string& path, Status& failure) {
  struct stat info {};
  Node node{path, NodeKind::kMissing, 0, 0};
  errno = 0;
  if (lstat(path.c_str(), &info) != 0) {
    if (!is_missing(errno) && errno != EACCES && failure.ok()) {
      failure = look_failed("lstat", path, errno);
    }
    return node;
  }
  node.dev = info.st_dev;
  node.ino = info.st_ino;
  switch (info.st_mode & S_IFMT) {
    case S_IFDIR:
      node.kind = NodeKind::kDirectory;
      break;
    case S_IFREG:
      node.kind = NodeKind::kFile;
      break;
    case S_IFCHR:
    case S_IFBLK:
      node.kind = NodeKind::kDevice;
      break;
    case S_IFLNK:
      node.kind = NodeKind::kLink;
      break;
    case S_IFSOCK:
      node.kind = NodeKind::kSocket;
      break;
    default:
      node.kind = NodeKind::kOther;
      break;
  }
  return node;
}

std::string read_link(const std::string& path, Status& failure) {
  std::array<char, PATH_MAX> target;  // NOLINT(cppcoreguidelines-pro-type-member-init): readlink
  const ssize_t size = readlink(path.c_str(), target.data(), target.size());
  if (size < 0 && !is_missing(errno) && failure.ok()) {
    failure = look_failed("readlink", path, errno);
  }
  return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// Reads a small regular file; nullopt when it is absent, larger than `max` or of another kind.
std::optional<std::string> read_small_file(const std::string& path, std::size_t max) {
  const OwnedFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.is_open() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) > max) return std::nullopt;
  Result<std::string> content = read_up_to(fd.get(), max);
  return content.ok() ? std::optional(std::move(content).value()) : std::nullopt;
}

// The parent directory with every symlink resolved, and the last component as it stands.
std::string resolve_parent(const std::string& path, Status& failure) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == 0 ? "/" : path.substr(0, slash);
  const Result<std::string> real = real_path(parent);
  if (!real.ok()) {
    const int error = real.error().sys_errno;
    if (!is_missing(error) && error != EACCES && failure.ok()) {
      failure = look_failed("realpath", parent, error);
    }
    return path;
  }
  return (real.value() == "/" ? "" : real.value()) + path.substr(slash);
}

// What installed packages keep for all users: fonts found, formats made, what is installed.
constexpr auto kStateOfPackages = std::to_array<std::string_view>(
    {"/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/texmf", "/var/lib/tex-common",
     "/var/lib/aspell", "/var/lib/ispell", "/var/lib/dictionaries-common", "/var/lib/ghc",
     "/var/lib/gems", "/var/lib/sgml-base", "/var/lib/mecab", "/var/lib/units",
     "/var/cache/fontconfig", "/var/cache/man"});

// What runtimes ask of processors and memory. No devices.
constexpr auto kMachine = std::to_array<std::string_view>(
    {"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm"});

class Inspector {
 public:
  Inspector(const Policy& policy, bool has_mounts, Witnesses* witnesses, View& view,
            Expansions* expansions, std::string caller_home = "")
      : policy_(policy),
        has_mounts_(has_mounts),
        witnesses_(witnesses),
        view_(view),
        expansions_(expansions),
        caller_home_(std::move(caller_home)) {}

  Status run(const std::vector<std::string>& tool_names, const std::string& search_path) {
    SBX_CHECK_OK(run_all(tool_names, search_path));
    return failure_;
  }

  Status run_only_roots() {
    SBX_CHECK_OK(run_roots());
    return failure_;
  }

 private:
  Status run_all(const std::vector<std::string>& tool_names, const std::string& search_path) {
    const Base base = policy_.sandbox.filesystem.base;
    if (base == Base::kSystem || base == Base::kTools) add_system(base == Base::kTools);
    if (base == Base::kTools) SBX_CHECK_OK(add_tools(tool_names, search_path));
    if (base == Base::kSystem || base == Base::kTools) SBX_CHECK_OK(add_etc());
    if (base != Base::kNone && policy_.sandbox.http != nullptr) {
      Node bundle = see(policy_.sandbox.http->trust_path);
      if (bundle.kind == NodeKind::kFile) view_.etc_own.push_back(std::move(bundle));
    }
    if (base != Base::kTools) {
      SBX_CHECK_OK(find_denied_programs(policy_, search_path, witnesses_, view_));
    }
    SBX_CHECK_OK(run_roots());
    add_git_config();
    add_host_masks();
    SBX_CHECK_OK(add_devices());
    add_proc_masks();
    choose_staging();
    return {};
  }

  Status run_roots() {
    note_own_files();
    SBX_CHECK_OK(add_roots());
    SBX_CHECK_OK(add_caches());
    SBX_CHECK_OK(add_git_outside(policy_, view_));
    narrow_view(policy_, view_);
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
      SBX_CHECK_OK(protect_project_settings(view_.roots, root.node, view_.protects));
    }
    for (const std::string& path : policy_.run.own_files) {
      SBX_CHECK_OK(protect_path(view_.roots, path, view_.protects));
    }
    // A symlink on the way to a narrower root, turned elsewhere, would uncover it in the next run.
    for (const Root& root : policy_.sandbox.filesystem.roots) {
      if (root.pattern_at != 0) continue;
      const bool is_narrow = root.access != Access::kReadWrite || root.noexec;
      if (is_narrow && root.path != "/" && resolve_parent(root.path) != root.path) {
        SBX_CHECK_OK(protect_path(view_.roots, root.path, view_.protects));
      }
    }
    if (!policy_.sandbox.home.empty()) view_.home = look(policy_.sandbox.home);
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
    return Error{ErrorCode::kPathRefused,
                 "the workspace " + path + " cannot be entered: " + errno_text(errno), path,
                 "choose another with --workspace", errno};
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
      if (holder != nullptr && holder->access == Access::kReadWrite &&
          holder->noexec == root.noexec) {
        lifted.push_back(root.node.path);
      }
    }
    for (const std::string& path : lifted) {
      std::erase_if(view_.roots, [&](const ViewRoot& root) { return root.node.path == path; });
    }
    view_.lifted = std::move(lifted);
  }

  Node look(const std::string& path) { return sbx::look(path, failure_); }
  std::string read_link(const std::string& path) { return sbx::read_link(path, failure_); }
  std::string resolve_parent(const std::string& path) {
    return sbx::resolve_parent(path, failure_);
  }

  // A look that the witnesses tell of.
  Node see(const std::string& path) {
    if (witnesses_ != nullptr) witnesses_->entry(path);
    return look(path);
  }

  void add_system(bool links_only) {
    for (const char* path :
         {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/libexec"}) {
      add_system_path(path, links_only);
    }
    // Where functional package managers keep the programs that /usr or PATH point into.
    for (const char* path : {"/nix/store", "/gnu/store"}) add_system_path(path, links_only);
    if (shows_whole_host()) return;
    for (const std::string_view path : kStateOfPackages) add_system_path(path, links_only);
    for (const std::string_view path : kMachine) add_system_path(path, links_only);
  }

  void add_system_path(std::string_view name, bool links_only) {
    const std::string path(name);
    Node node = see(path);
    if (node.kind == NodeKind::kLink) {
      view_.system_links.push_back({path, read_link(path)});
    } else if (node.kind == NodeKind::kDirectory && !links_only) {
      view_.system.push_back(std::move(node));
    }
  }

  Status add_tools(const std::vector<std::string>& names, const std::string& search_path) {
    if (witnesses_ != nullptr) witnesses_->give_up();
    SBX_TRY(ToolClosure closure, close_over_tools(names, search_path));
    for (const auto* paths : {&closure.files, &closure.directories}) {
      for (const std::string& path : *paths) {
        Node node = look(path);
        if (node.kind != NodeKind::kMissing) view_.tools.push_back(std::move(node));
      }
    }
    for (const auto& [path, target] : closure.symlinks) view_.tool_links.push_back({path, target});
    return {};
  }

  // What any user may read there, less what is private.
  Status add_etc() {
    if (Node etc = see("/etc"); etc.kind == NodeKind::kDirectory) view_.etc = std::move(etc);
    if (policy_.sandbox.network.mode == NetworkMode::kOpen) {
      if (witnesses_ != nullptr) witnesses_->content("/etc/resolv.conf");
      view_.resolv_conf =
          read_small_file("/etc/resolv.conf", std::size_t{32} << 10).value_or(std::string());
    }
    if (view_.etc.kind == NodeKind::kMissing) return {};
    for (const std::string_view name : kOwnEtcFiles) {
      Node node = see("/etc/" + std::string(name));
      if (node.kind == NodeKind::kFile || node.kind == NodeKind::kLink) {
        view_.etc_own.push_back(std::move(node));
      }
    }
    if (witnesses_ != nullptr) witnesses_->entries("/etc");
    // Root owns most of what others may not read; members of a group may read what is the group's.
    if (has_mounts_ && geteuid() == 0) {
      Result<UnownedMap> map = UnownedMap::make();
      if (map.ok() && map.value().tree("/etc", 0).ok()) view_.etc_map = std::move(map).value();
    }
    const std::vector<gid_t> groups = read_groups();
    const bool may_read_more =
        geteuid() == 0 ||
        std::any_of(groups.begin(), groups.end(), [](gid_t group) { return group != getegid(); });
    SBX_TRY(view_.etc_private, find_private("/etc", view_.etc_map.is_made() ? EtcReach::kOthers
                                                    : may_read_more         ? EtcReach::kMore
                                                                            : EtcReach::kUser));
    return {};
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

  void note_own_files() {
    for (const std::string& file : policy_.run.own_files) {
      for (const Result<std::string>& name : {normal_path(file, "/", ""), real_path(file)}) {
        if (name.ok()) own_files_.push_back(name.value());
      }
    }
  }

  Result<std::vector<std::string>> expand(const View::Pattern& pattern, const std::string& where,
                                          Unlisted unlisted) {
    if (expansions_ == nullptr) return expand_glob(pattern.base, pattern.text, where, unlisted);
    return expansions_->of(pattern.base, pattern.text, where, unlisted);
  }

  // Each path that matches, as a root of its own.
  Status add_pattern(const Root& root, std::vector<Root>& out) {
    const std::string head = root.pattern_at == 1 ? "/" : root.path.substr(0, root.pattern_at - 1);
    const Result<std::string> base = real_path(head);
    if (!base.ok()) {
      const int error = base.error().sys_errno;
      const bool is_closed = error == EACCES && is_closed_to_us(head);
      if (error == ENOENT || error == ENOTDIR || is_closed) return {};
      return Error{ErrorCode::kPathRefused,
                   "cannot be looked at: " + head + ": " + errno_text(error), root.where,
                   "name a directory that can be searched", error};
    }
    View::Pattern pattern{base.value(), root.path.substr(root.pattern_at),
                          root.access == Access::kNone};
    SBX_TRY(pattern.matches,
            expand(pattern, root.where,
                   root.access == Access::kReadWrite ? Unlisted::kPassedOver : Unlisted::kRefused));
    for (const std::string& match : pattern.matches) {
      Root one = root;
      one.path = (pattern.base == "/" ? "/" : pattern.base + "/") + match;
      one.pattern_at = 0;
      one.optional = true;
      if (!pattern.hides && is_own(one.path)) continue;
      Status ignored;
      const NodeKind kind = sbx::look(one.path, ignored).kind;
      const bool is_shown = kind == NodeKind::kDirectory || kind == NodeKind::kFile;
      if (pattern.hides || is_shown) out.push_back(std::move(one));
    }
    if (root.access != Access::kReadWrite) view_.patterns.push_back(std::move(pattern));
    return {};
  }

  Status add_protected(const ViewRoot& root, const Protect& protect) {
    if (!is_glob(protect.path)) {
      return resolve_protect(view_.roots, root.node, protect, view_.protects);
    }
    View::Pattern pattern{root.node.path, protect.path, false};
    SBX_TRY(pattern.matches, expand(pattern, protect.where, Unlisted::kRefused));
    for (const std::string& match : pattern.matches) {
      const Protect one{match, Missing::kReport, protect.where};
      SBX_CHECK_OK(resolve_protect(view_.roots, root.node, one, view_.protects));
    }
    view_.patterns.push_back(std::move(pattern));
    return {};
  }

  Status add_caches() {
    for (const auto& [name, cache] : policy_.sandbox.caches) {
      Node node = look(cache.source);
      if (node.kind != NodeKind::kDirectory) {
        return Error{ErrorCode::kPathNotFound, "the cache's directory is gone: " + cache.source,
                     "/caches/" + name, "run again"};
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
      const std::string path = root.path == "/" ? root.path : resolve_parent(root.path);
      Node node = look(path);
      SBX_CHECK_OK(failure_);
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
        return Error{ErrorCode::kPathNotFound, "no such path: " + root.path, root.where,
                     root.where.starts_with("--")
                         ? "create it, or leave the flag out"
                         : "create it, mark it \"optional\": true, or remove it",
                     ENOENT};
      }
      // A dotfile that is kept elsewhere: nothing of it shows, and nothing inside can make it.
      if (node.kind == NodeKind::kLink && root.optional && root.access == Access::kReadOnly &&
          !lies_in_writable(path) && !lies_in_writable(root.path)) {
        view_.left_out.push_back({path, read_link(path)});
        continue;
      }
      SBX_CHECK_OK(check_root(root, node));
      SBX_CHECK_OK(check_stays(root, node));
      seen.insert(node.path);
      view_.roots.push_back({std::move(node), root.access, root.where, root.noexec});
    }
    hide_link_targets();
    return has_mounts_ ? hide_fifos(view_.roots) : Status();
  }

  bool lies_in_writable(const std::string& path) const {
    const auto& roots = policy_.sandbox.filesystem.roots;
    return std::any_of(roots.begin(), roots.end(), [&](const Root& root) {
      return root.access == Access::kReadWrite && root.path != path && is_below(path, root.path);
    });
  }

  // A hidden symlink hides what it leads to as well, where a root shows that and none lies below.
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
        if (!is_missing(error) && error != EACCES && error != ELOOP && failure_.ok()) {
          failure_ = look_failed("realpath", root.node.path, error);
        }
        continue;
      }
      const std::string& target = real.value();
      if (is_shown(target) && !holds_roots(target)) {
        more.push_back({look(target), Access::kNone, root.where});
      }
    }
    view_.roots.insert(view_.roots.end(), more.begin(), more.end());
  }

  // What lies in a writable root may have been planted by an earlier command: a root below one must
  // not have been led out of it by a symlink on the way.
  Status check_stays(const Root& root, const Node& node) {
    for (const Root& holder : policy_.sandbox.filesystem.roots) {
      const bool within = holder.access == Access::kReadWrite && holder.path != root.path &&
                          is_below(root.path, holder.path);
      if (!within || is_below(node.path, holder.path == "/" ? "/" : resolve_parent(holder.path))) {
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
    if (node.kind == NodeKind::kLink) {
      if (root.access == Access::kNone) return {};
      return Error{ErrorCode::kPathRefused,
                   "a root must not be a symlink: " + root.path + " -> " + read_link(node.path),
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

  // In the order in which git reads them.
  void add_git_config() {
    const FilesystemProfile& filesystem = policy_.sandbox.filesystem;
    if (filesystem.git_config == GitConfig::kNone || filesystem.home != HomeMode::kPrivate ||
        caller_home_.empty()) {
      return;
    }
    for (const char* name : {"/.config/git/config", "/.gitconfig"}) {
      const std::string path = caller_home_ + name;
      see(path);
      if (witnesses_ != nullptr) witnesses_->content(path);
      const auto text = read_small_file(path, std::size_t{256} << 10);
      if (text) view_.git_config += shareable_git_config(*text);
    }
  }

  // The new root is built on a directory that covers none of the sources, of which /sys has some in
  // every view. A container's image may have few.
  void choose_staging() {
    for (const char* path :
         {"/mnt", "/media", "/srv", "/opt", "/boot", "/tmp", "/run", "/home", "/root"}) {
      const bool covers =
          std::any_of(view_.roots.begin(), view_.roots.end(),
                      [&](const ViewRoot& root) { return is_below(root.node.path, path); }) ||
          std::any_of(view_.caches.begin(), view_.caches.end(),
                      [&](const auto& cache) { return is_below(cache.second.path, path); });
      if (covers || look(path).kind != NodeKind::kDirectory) continue;
      view_.staging = path;
      return;
    }
  }

  bool shows_whole_host() const {
    return policy_.sandbox.filesystem.base == Base::kHost ||
           std::any_of(
               policy_.sandbox.filesystem.roots.begin(), policy_.sandbox.filesystem.roots.end(),
               [](const Root& root) { return root.path == "/" && root.access != Access::kNone; });
  }

  // What a read-only view of the whole host must not show: run-time sockets and kernel knobs.
  void add_host_masks() {
    if (!shows_whole_host()) return;
    for (const char* path : {"/run", "/sys", "/var/run"}) {
      if (Node node = see(path); node.kind == NodeKind::kDirectory) {
        view_.host_masks.push_back(std::move(node));
      }
    }
  }

  Status add_devices() {
    for (const char* path :
         {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}) {
      if (Node node = see(path); node.kind == NodeKind::kDevice) {
        view_.devices.push_back(std::move(node));
      }
    }
    for (std::size_t i = 0; i < policy_.sandbox.filesystem.devices.size(); ++i) {
      const std::string where = "/filesystem/devices/" + std::to_string(i);
      SBX_TRY(const std::string path,
              normal_path(policy_.sandbox.filesystem.devices[i], "/", where));
      Node node = see(path);
      if (is_glob(path) && is_below(path, "/dev")) {
        SBX_CHECK_OK(add_matching_devices(path, where));
        continue;
      }
      if (!is_below(path, "/dev") || node.kind != NodeKind::kDevice) {
        return Error{
            node.kind == NodeKind::kMissing ? ErrorCode::kPathNotFound : ErrorCode::kPathRefused,
            "not a device node below /dev: " + path, where, "remove it"};
      }
      add_device(std::move(node));
    }
    return {};
  }

  // Those that are there; none is no error.
  Status add_matching_devices(const std::string& path, const std::string& where) {
    static constexpr std::string_view kDev = "/dev/";
    if (witnesses_ != nullptr) witnesses_->give_up();
    SBX_TRY(const std::vector<std::string> matches,
            expand_glob("/dev", path.substr(kDev.size()), where, Unlisted::kPassedOver));
    for (const std::string& match : matches) {
      Node node = look(std::string(kDev) + match);
      if (node.kind == NodeKind::kDevice) add_device(std::move(node));
    }
    return {};
  }

  void add_device(Node node) {
    const auto same = [&](const Node& other) { return other.path == node.path; };
    if (std::any_of(view_.devices.begin(), view_.devices.end(), same)) return;
    view_.devices.push_back(std::move(node));
  }

  // Entries of /proc that tell of the whole machine or of its keys. They do not come and go.
  void add_proc_masks() {
    for (const char* name : {"sys", "irq", "bus", "fs", "sysrq-trigger"}) {
      if (look(std::string("/proc/") + name).kind != NodeKind::kMissing) {
        view_.proc_knobs.emplace_back(name);
      }
    }
    // All of /proc is read-only inside; what is left is to be read.
    for (const char* name : {"keys", "latency_stats"}) add_proc_mask(name);
    // Files of mode 0400 that a root caller's command, still the owner, could open.
    if (geteuid() != 0) return;
    for (const char* name :
         {"kcore", "kmsg", "timer_list", "sched_debug", "sysrq-trigger", "kpagecgroup",
          "kpagecount", "kpageflags", "vmallocinfo", "slabinfo"}) {
      add_proc_mask(name);
    }
  }

  void add_proc_mask(const std::string& name) {
    const NodeKind kind = look("/proc/" + name).kind;
    if (kind == NodeKind::kMissing) return;
    view_.proc_masks.push_back(kind == NodeKind::kDirectory ? name + "/" : name);
  }

  const Policy& policy_;
  std::vector<std::string> own_files_;
  const bool has_mounts_;
  Witnesses* const witnesses_;
  View& view_;
  Expansions* const expansions_;
  const std::string caller_home_;
  Status failure_;
};

}  // namespace

Result<View> inspect_view(const Policy& policy, const std::vector<std::string>& tool_names,
                          const std::string& search_path, const std::string& caller_home,
                          bool has_mounts, Witnesses* witnesses, Expansions* expansions) {
  View view;
  SBX_CHECK_OK(Inspector(policy, has_mounts, witnesses, view, expansions, caller_home)
                   .run(tool_names, search_path));
  return view;
}

Result<View> inspect_roots(const Policy& policy, Expansions* expansions) {
  View view;
  SBX_CHECK_OK(Inspector(policy, false, nullptr, view, expansions).run_only_roots());
  return view;
}

bool has_patterns(const Policy& policy) {
  const auto is_pattern = [](const Root& root) { return root.pattern_at != 0; };
  const auto is_protected = [](const Protect& protect) { return is_glob(protect.path); };
  const FilesystemProfile& filesystem = policy.sandbox.filesystem;
  return std::any_of(filesystem.roots.begin(), filesystem.roots.end(), is_pattern) ||
         std::any_of(filesystem.protect.begin(), filesystem.protect.end(), is_protected);
}

Status list_directory(View& view, const std::string& directory) {
  static constexpr std::size_t kMaxEntries = 4096;
  if (view.listings.contains(directory)) return {};
  Listing listing(directory);
  if (!listing.is_open()) {
    return Error{ErrorCode::kPathRefused, "opendir(" + directory + "): " + errno_text(errno),
                 directory, "", errno};
  }
  std::vector<Node> entries;
  const std::string prefix = directory == "/" ? "/" : directory + "/";
  while (const dirent* const entry = listing.next()) {
    if (entries.size() == kMaxEntries) {
      return Error{ErrorCode::kPathRefused,
                   "more than 4096 entries, too many to be granted one by one: " + directory,
                   directory, "run where a mount namespace can be had (sbx-run doctor)"};
    }
    Status failure;
    Node node = look(prefix + entry->d_name, failure);
    SBX_CHECK_OK(failure);
    if (node.kind != NodeKind::kMissing && node.kind != NodeKind::kLink) {
      entries.push_back(std::move(node));
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Node& a, const Node& b) { return a.path < b.path; });
  view.listings.emplace(directory, std::move(entries));
  return {};
}

}  // namespace sbx
