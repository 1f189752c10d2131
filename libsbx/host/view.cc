// SPDX-License-Identifier: Apache-2.0
// Policy → View: looks at the paths that a policy names. Reads only; what it finds is checked again
// by the child, by device and inode.
#include "host/view.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/system_places.h"
#include "host/closure.h"
#include "host/denied.h"
#include "host/etc_private.h"
#include "host/facts.h"
#include "host/git_files.h"
#include "host/globs.h"
#include "host/looks.h"
#include "host/view_roots.h"
#include "policy/http.h"
#include "profile/forms.h"

namespace sbx {
namespace {

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
    return looks_.failure();
  }

  Status run_only_roots() {
    SBX_CHECK_OK(run_roots());
    return looks_.failure();
  }

 private:
  Status run_all(const std::vector<std::string>& tool_names, const std::string& search_path) {
    const Base base = policy_.sandbox.filesystem.base;
    if (base == Base::kSystem || base == Base::kTools) add_system(base == Base::kTools);
    if (base == Base::kTools) SBX_CHECK_OK(add_tools(tool_names, search_path));
    if (base == Base::kSystem || base == Base::kTools) SBX_CHECK_OK(add_etc());
    const NetworkMode mode = policy_.sandbox.network.mode;
    const bool has_own_network =
        policy_.sandbox.isolation.namespaces.has(Layer::kNet) && mode != NetworkMode::kOpen;
    for (const std::string_view name : kOwnEtcFiles) {
      if (base == Base::kHost && has_own_network && is_own_over_host(name, mode)) add_own_etc(name);
    }
    if (base != Base::kNone && policy_.sandbox.http != nullptr) {
      Node bundle = see(policy_.sandbox.http->trust_path);
      if (bundle.kind == NodeKind::kFile) view_.etc_own.push_back(std::move(bundle));
    }
    if (base != Base::kTools) {
      SBX_CHECK_OK(find_denied_programs(policy_, search_path, witnesses_, view_));
    }
    SBX_CHECK_OK(run_roots());
    map_owners();
    add_git_config();
    add_host_masks();
    SBX_CHECK_OK(add_devices());
    add_proc_masks();
    choose_staging(view_);
    return {};
  }

  Status run_roots() {
    SBX_CHECK_OK(find_roots(policy_, has_mounts_, expansions_, looks_, view_));
    if (!policy_.sandbox.home.empty()) view_.home = looks_.at(policy_.sandbox.home);
    return {};
  }

  // A look that the witnesses tell of.
  Node see(const std::string& path) {
    if (witnesses_ != nullptr) witnesses_->entry(path);
    return looks_.at(path);
  }

  void add_system(bool links_only) {
    for (const std::string_view path : kSystemPlaces) add_system_path(path, links_only);
    if (shows_whole_host()) return;
    for (const std::string_view path : kStateOfPackages) add_system_path(path, links_only);
    for (const std::string_view path : kMachine) add_system_path(path, links_only);
  }

  void add_system_path(std::string_view name, bool links_only) {
    const std::string path(name);
    Node node = see(path);
    if (node.kind == NodeKind::kLink) {
      view_.system_links.push_back({path, looks_.link(path)});
    } else if (node.kind == NodeKind::kDirectory && !links_only) {
      view_.system.push_back(std::move(node));
    }
  }

  Status add_tools(const std::vector<std::string>& names, const std::string& search_path) {
    if (witnesses_ != nullptr) witnesses_->give_up();
    SBX_TRY(ToolClosure closure, close_over_tools(names, search_path));
    for (const auto* paths : {&closure.files, &closure.directories}) {
      for (const std::string& path : *paths) {
        Node node = looks_.at(path);
        if (node.kind != NodeKind::kMissing) view_.tools.push_back(std::move(node));
      }
    }
    for (const auto& [path, target] : closure.symlinks) view_.tool_links.push_back({path, target});
    return {};
  }

  static bool can_show(const IdMap& map, const std::string& path) {
    const OwnedFd file(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    return file.is_open() && map.tree(file.get(), 0).ok();
  }

  // What lies in an overlay stays its owner's, since not every kernel takes such a tree for its
  // lower; a kept layer is a copy there.
  void map_owners() {
    if (!policy_.sandbox.layer.empty()) return;
    for (const ViewRoot& root : view_.roots) {
      if (!root.owner) continue;
      const IdMap map = has_mounts_ && !policy_.sandbox.filesystem.overlay
                            ? map_of(*root.owner, root.node.path)
                            : IdMap();
      if (map.is_made()) {
        view_.owned.emplace(root.node.path, map);
      } else if (root.access == Access::kReadWrite) {
        view_.not_writable.push_back(root.node.path);
      }
    }
  }

  // Not made where the path cannot be shown so.
  IdMap map_of(const Owner& owner, const std::string& path) {
    for (const auto& [known, map] : id_maps_) {
      if (known == owner) return can_show(map, path) ? map : IdMap();
    }
    const Result<IdMap> map = IdMap::as_root(owner);
    if (!map.ok()) return {};
    id_maps_.emplace_back(owner, map.value());
    return can_show(map.value(), path) ? map.value() : IdMap();
  }

  void add_own_etc(std::string_view name) {
    Node node = see("/etc/" + std::string(name));
    if (node.kind == NodeKind::kFile || node.kind == NodeKind::kLink) {
      view_.etc_own.push_back(std::move(node));
    }
  }

  std::string read_hosts(const char* path, std::size_t max) {
    if (witnesses_ != nullptr) witnesses_->content(path);
    return read_small_file(path, max).value_or(std::string());
  }

  // What any user may read there, less what is private.
  Status add_etc() {
    if (Node etc = see("/etc"); etc.kind == NodeKind::kDirectory) view_.etc = std::move(etc);
    if (policy_.sandbox.network.mode == NetworkMode::kOpen) {
      view_.resolv_conf = read_hosts("/etc/resolv.conf", std::size_t{32} << 10);
      view_.hosts = read_hosts("/etc/hosts", std::size_t{256} << 10);
    }
    if (view_.etc.kind == NodeKind::kMissing) return {};
    for (const std::string_view name : kOwnEtcFiles) add_own_etc(name);
    if (witnesses_ != nullptr) witnesses_->entries("/etc");
    // Root owns most of what others may not read; members of a group may read what is the group's.
    if (has_mounts_ && geteuid() == 0) {
      Result<IdMap> map = IdMap::nobody();
      if (map.ok() && can_show(map.value(), "/etc")) view_.etc_map = std::move(map).value();
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

  // By its own name, or that of what it leads to.
  const PathMaximum* hiding_maximum(const std::string& path) const {
    const Result<std::string> real = real_path(path);
    for (const std::string& name : {path, real.ok() ? real.value() : path}) {
      const PathMaximum* const most = least_maximum(policy_.sandbox.maxima, name);
      if (most != nullptr && most->access == Access::kNone) return most;
    }
    return nullptr;
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
      if (!text) continue;
      if (const PathMaximum* const hides = hiding_maximum(path)) {
        view_.git_hidden.push_back({path, hides->file});
        continue;
      }
      view_.git_config += shareable_git_config(*text);
      for (const std::string& file : read_git_config(*text).includes) {
        view_.git_included.push_back({path, file});
      }
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
    const auto add = [this](std::string_view path) {
      if (Node node = see(std::string(path)); node.kind == NodeKind::kDevice) {
        view_.devices.push_back(std::move(node));
      }
    };
    for (const std::string_view path : kPlainDevices) add(path);
    add("/dev/tty");
    for (std::size_t i = 0; i < policy_.sandbox.filesystem.devices.size(); ++i) {
      const std::string where = "/filesystem/devices/" + std::to_string(i);
      SBX_TRY(const std::string path,
              normal_path(policy_.sandbox.filesystem.devices[i], "/", where));
      Node node = see(path);
      if (forms::is_glob(path) && is_below(path, "/dev")) {
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
            expand_glob({"/dev", path.substr(kDev.size()), {}, Unlisted::kPassedOver}, where));
    for (const std::string& match : matches) {
      Node node = looks_.at(std::string(kDev) + match);
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
    const NodeKind kind = looks_.at("/proc/" + name).kind;
    if (kind == NodeKind::kMissing) return;
    view_.proc_masks.push_back(kind == NodeKind::kDirectory ? name + "/" : name);
  }

  const Policy& policy_;
  std::vector<std::pair<Owner, IdMap>> id_maps_;
  const bool has_mounts_;
  Witnesses* const witnesses_;
  View& view_;
  Expansions* const expansions_;
  const std::string caller_home_;
  Looks looks_;
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

void choose_staging(View& view) {
  for (const char* path :
       {"/mnt", "/media", "/srv", "/opt", "/boot", "/tmp", "/run", "/home", "/root"}) {
    const auto lies_there = [&](const Node& node) { return is_below(node.path, path); };
    const bool covers = is_below(view.layer.store, path) ||
                        std::any_of(view.tools.begin(), view.tools.end(), lies_there) ||
                        std::any_of(view.roots.begin(), view.roots.end(),
                                    [&](const ViewRoot& root) { return lies_there(root.node); }) ||
                        std::any_of(view.caches.begin(), view.caches.end(),
                                    [&](const auto& cache) { return lies_there(cache.second); });
    struct stat info {};
    if (covers || lstat(path, &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    view.staging = path;
    return;
  }
}

Result<View> inspect_roots(const Policy& policy, Expansions* expansions) {
  View view;
  SBX_CHECK_OK(Inspector(policy, false, nullptr, view, expansions).run_only_roots());
  return view;
}

bool has_patterns(const Policy& policy) {
  const auto is_pattern = [](const Root& root) { return root.pattern_at != 0; };
  const auto is_protected = [](const Protect& protect) { return forms::is_glob(protect.path); };
  const FilesystemProfile& filesystem = policy.sandbox.filesystem;
  return std::any_of(filesystem.roots.begin(), filesystem.roots.end(), is_pattern) ||
         std::any_of(filesystem.protect.begin(), filesystem.protect.end(), is_protected);
}

Status list_directory(View& view, const std::string& directory) {
  static constexpr std::size_t kMaxEntries = 4096;
  if (view.listings.contains(directory)) return {};
  Listing listing(directory);
  if (!listing.is_open()) {
    return call_failed(ErrorCode::kPathRefused, "opendir(" + directory + ")", directory);
  }
  std::vector<Node> entries;
  Looks looks;
  const std::string prefix = directory == "/" ? "/" : directory + "/";
  while (const dirent* const entry = listing.next()) {
    if (entries.size() == kMaxEntries) {
      return Error{ErrorCode::kPathRefused,
                   "more than 4096 entries, too many to be granted one by one: " + directory,
                   directory, "run where a mount namespace can be had (sbx-run doctor)"};
    }
    Node node = looks.at(prefix + entry->d_name);
    SBX_CHECK_OK(looks.failure());
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
