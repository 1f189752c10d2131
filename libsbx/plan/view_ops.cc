// SPDX-License-Identifier: Apache-2.0
// The mount view as operations: a private root, every placement in its order, pivot.
// Inside the new root every path is relative; `proc/` there is the workshop: a part of the tmpfs
// that holds the writable directories and the masks, and is covered by procfs in the end.
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "base/paths.h"
#include "plan/builder.h"
#include "plan/kept_mounts.h"
#include "plan/placements.h"
#include "policy/http.h"
#include "sys/kernel.h"

namespace sbx {
namespace {

constexpr std::uint64_t kTmpfsFlags = MS_NOSUID | MS_NODEV;

// "/a/b" → "a/b": paths are relative to the new root, where the child stands.
std::string_view relative(std::string_view path) { return path.substr(1); }

class ViewPlanner {
 public:
  ViewPlanner(PlanBuilder& builder, const PlanInput& input, const ViewOptions& options)
      : builder_(builder),
        input_(input),
        view_(input.view),
        options_(options),
        placements_(input),
        kept_mounts_(builder, view_, placements_) {}

  Status run() {
    if (Status status = placements_.collect(builder_.plan()); !status.ok()) return status;
    // Device nodes are made in it first.
    if (placements_.has_host_root()) late_attributes_.emplace_back("dev", kDeviceAttributes);
    // In a user namespace of its own the clone has done that: mount_namespaces(7).
    if (!options_.own_userns) add(op::PrivateMounts{});
    make_root();
    has_guards_ = needs_guards();
    make_workshop();
    for (Placement& placement : placements_.all()) place(placement);
    make_etc();
    make_dev();
    show_limits();
    lead_to_roots();
    size_scratch();
    make_proc();
    for (const auto& [path, attributes] : late_attributes_) set_attributes(path, attributes);
    if (!placements_.has_host_root()) set_attributes(".", kReadOnlyAttributes);
    add(op::Pivot{});
    builder_.confirm_last(Layer::kMount);
    if (has_guards_) guard();
    return {};
  }

 private:
  template <Operation T>
  void add(const T& operation) {
    builder_.add(operation, Layer::kMount);
  }
  op::Text text(std::string_view value) { return builder_.text(value); }

  // Placements that follow each other mostly have the same parent.
  bool is_ours(std::string_view path) {
    if (path != asked_) {
      asked_ = path;
      is_ours_ = placements_.is_ours(path);
    }
    return is_ours_;
  }

  // --- the operations ---

  // Our own files of /etc, and long symlinks, in whole pages.
  std::int64_t etc_bytes() const {
    constexpr std::size_t kOwnFiles = 16;
    const std::size_t page = input_.facts.architecture == "x86_64" ? 4096 : 65536;
    const auto* const http = input_.policy.sandbox.http.get();
    const std::size_t bytes =
        view_.resolv_conf.size() + view_.hosts.size() +
        (http == nullptr ? 0 : 2 * http->trust_bundle.size() + http->java_store.size());
    const std::size_t pages = kOwnFiles + (bytes + page - 1) / page;
    return static_cast<std::int64_t>(pages * page);
  }

  std::string tmpfs_options() const {
    const auto& tmp_mb = input_.policy.sandbox.limits.tmp_mb;
    std::string options = "mode=0755";
    if (tmp_mb) {
      // What is promised and what /etc takes of it; inodes cost kernel memory that the size does
      // not count.
      options += ",size=" + std::to_string((*tmp_mb << 20) + etc_bytes());
      options += ",nr_inodes=" + std::to_string(4096 + *tmp_mb * 512);
    }
    return options;
  }

  void mount_tmpfs(std::string_view destination) {
    add(op::Mount{FileSystem::kTmpfs, text(destination), text(tmpfs_options()), kTmpfsFlags});
  }

  void make_root() {
    if (placements_.has_host_root()) {
      builder_.bind(
          Node{"/", NodeKind::kDirectory, 0, 0}, view_.staging,
          placements_.host_root_is_writable() ? kWritableAttributes : kReadOnlyAttributes);
    } else {
      mount_tmpfs(view_.staging);
    }
    add(op::EnterRoot{text(view_.staging)});
    if (placements_.has_host_root()) {
      mount_tmpfs("proc");
    } else {
      make_dir("proc", 0755);
    }
  }

  void make_dir(std::string_view path, unsigned mode) {
    if (!made_.insert(std::string(path)).second) return;
    add(op::MakeDir{text(path), mode});
  }

  void make_file(std::string_view path, std::string_view content, unsigned mode) {
    add(op::MakeFile{text(path), builder_.content(content), mode});
  }

  void make_link(std::string_view path, std::string_view target) {
    if (!made_.insert(std::string(path)).second) return;
    links_.emplace(path);
    add(op::MakeLink{text(path), text(target)});
  }

  void set_attributes(std::string_view path, std::uint64_t attributes) {
    add(op::SetAttributes{text(path), attributes});
  }

  void bind_inside(std::string_view source, std::string_view destination,
                   std::uint64_t attributes) {
    add(op::BindInside{text(source), text(destination), attributes});
  }

  void make_workshop() {
    make_dir("proc/tmp", 01777);
    make_dir("proc/shm", 01777);
    make_dir("proc/home", 0700);
    if (!view_.git_config.empty()) {
      make_file("proc/home/.gitconfig", view_.git_config, 0444);
      // A root that shows the caller's own is mounted over it.
      made_.emplace(relative(builder_.plan().home + "/.gitconfig"));
    }
    make_dir("proc/procfs", 0555);
    if (!builder_.plan().stubs.empty()) make_dir(kAbsent, 0555);
    make_dir(kMasks, 0755);
    make_dir(kEmpty, 0);
    make_file(kNoFile, "", 0);
    const auto covers = [](const Placement& p) { return p.kind == PlacementKind::kCover; };
    const auto& all = placements_.all();
    if (std::any_of(all.begin(), all.end(), covers)) make_file(kNothing, "", 0);
    make_own_etc_files();
    bind_inside(kMasks, kMasks, kMaskAttributes);
    if (placements_.has_host_root()) {
      make_dir("proc/void", 0755);
      make_dir("proc/dev", 0755);
      make_dir("proc/etc", 0755);
    }
    if (has_guards_) {
      // In a namespace of its own the command would have copies of the mounts, out of reach.
      const ReplacedMode chosen = input_.policy.sandbox.filesystem.replaced;
      const bool stops = options_.nested_userns && chosen == ReplacedMode::kRestore;
      add(op::PrepareGuards{stops ? ReplacedMode::kStop : chosen, text(kNoFile), text(kEmpty)});
    }
    report("proc/tmp", ReportTag::kScratch);
  }

  void report(std::string_view path, ReportTag tag) { add(op::ReportFd{text(path), tag}); }

  void make_parents(std::string_view path) {
    if (parent_of(path) == has_parents_) return;
    has_parents_ = parent_of(path);
    std::string_view parent = "/";
    for (std::size_t at = path.find('/', 1); at != std::string_view::npos;
         at = path.find('/', at + 1)) {
      if (is_ours(parent)) make_dir(relative(path.substr(0, at)), 0755);
      parent = path.substr(0, at);
    }
  }

  void make_mount_point(const Placement& placement) {
    make_parents(placement.path);
    if (!is_ours(parent_of(placement.path))) return;
    if (placement.is_directory) {
      make_dir(relative(placement.path), 0755);
    } else if (made_.insert(std::string(relative(placement.path))).second) {
      make_file(relative(placement.path), "", 0644);
    }
  }

  // A read-only directory of ours in which mount points must still be made gets one of its own,
  // and becomes read-only at the end. A mask stays closed to listing but lets paths through.
  void open_for_children(Placement& placement) {
    if ((placement.attributes & sys::kMountAttrReadOnly) == 0 || !placement.is_directory) return;
    // What lies in a directory follows it.
    const Placement* const next = &placement + 1;
    const auto& all = placements_.all();
    if (next == all.data() + all.size() || !is_below(next->path, placement.path)) return;
    const std::string own = "proc/dir" + std::to_string(late_attributes_.size());
    make_dir(own, placement.kind == PlacementKind::kMask ? 0111 : 0755);
    placement.inside = own;
    late_attributes_.emplace_back(relative(placement.path), placement.attributes);
    placement.attributes = kWritableAttributes;
  }

  static bool is_plain_mask(const Placement& placement) {
    return placement.inside == kEmpty || placement.inside == kNoFile;
  }

  void place(Placement& placement) {
    make_mount_point(placement);
    switch (placement.kind) {
      case PlacementKind::kBind:
        if (placement.ids.is_made()) {
          builder_.attach_mapped(placement.source, relative(placement.path), placement.attributes,
                                 placement.ids);
        } else if (placement.is_from_above) {
          Node source = placement.source;
          source.path = relative(placement.path);
          builder_.bind(source, source.path, placement.attributes);
        } else if (kept_mounts_.is_part(placement)) {
          kept_mounts_.bind(placement);
        } else if (placement.source.ino == 0 && is_ours(parent_of(placement.path))) {
          builder_.bind_system(placement.source.path, relative(placement.path),
                               placement.attributes);
        } else {
          builder_.bind(placement.source, relative(placement.path), placement.attributes);
        }
        return;
      case PlacementKind::kOverlay:
        place_overlay(placement);
        return;
      case PlacementKind::kCover:
        add(op::BindMask{text(placement.inside), text(relative(placement.path)),
                         placement.source.kind == NodeKind::kLink});
        return;
      case PlacementKind::kInside:
      case PlacementKind::kMask:
        open_for_children(placement);
        if (is_plain_mask(placement) && placement.is_system) {
          return add(op::BindMask{text(placement.inside), text(relative(placement.path)), false});
        }
        if (is_ours(parent_of(placement.path))) {
          builder_.bind_system(placement.inside, relative(placement.path), placement.attributes);
        } else {
          bind_inside(placement.inside, relative(placement.path), placement.attributes);
        }
        return;
    }
  }

  // Over a file lies one over its directory, which shows nothing else.
  void place_overlay(const Placement& placement) {
    if (placement.kept != nullptr) return kept_mounts_.lay_over(placement);
    const bool is_file = placement.source.kind == NodeKind::kFile;
    const std::string work = "proc/overlay" + std::to_string(builder_.plan().overlays.size());
    const std::string merged = is_file ? work + "/merged" : std::string(relative(placement.path));
    const std::string top(is_file ? parent_of(placement.source.path) : placement.path);
    make_dir(work, 0755);
    for (const char* part : {"/lower", "/upper", "/work"}) make_dir(work + part, 0755);
    builder_.bind(is_file ? Node{top, NodeKind::kDirectory, 0, 0} : placement.source,
                  work + "/lower", kReadOnlyAttributes);
    const op::Text options = text("lowerdir=" + work + "/lower,upperdir=" + work +
                                  "/upper,workdir=" + work + "/work,userxattr");
    for (const LaidFile& file : input_.files) {
      if (file.root == placement.path) builder_.lay(file, work + "/upper" + file.path);
    }
    if (is_file) make_dir(merged, 0755);
    add(op::Mount{FileSystem::kOverlay, text(merged), options, overlay_flags(placement)});
    if (is_file) {
      bind_inside(merged + placement.source.path.substr(placement.source.path.rfind('/')),
                  relative(placement.path), placement.attributes);
    }
    report(work + "/upper", ReportTag::kOverlay);
    builder_.plan().overlays.push_back(top);
  }

  // --- what the host can uncover ---

  bool needs_guards() const {
    const auto is_guarded = [&](const auto& place) { return placements_.is_guarded(place); };
    const auto& all = placements_.all();
    return std::any_of(all.begin(), all.end(), is_guarded) ||
           std::any_of(view_.absent.begin(), view_.absent.end(), is_guarded) ||
           std::any_of(view_.protects.begin(), view_.protects.end(), is_guarded);
  }

  // The directories on the way are watched first: a change before the look at a placement is seen
  // by that look, one after it is told.
  void guard() {
    std::map<std::string, bool, std::less<>> directories;  // → only denied programs depend on it
    const auto watch_above = [&](std::string_view path, bool is_system) {
      for (std::string_view directory = parent_of(path);; directory = parent_of(directory)) {
        bool& only_system = directories.try_emplace(std::string(directory), true).first->second;
        only_system = only_system && is_system;
        if (directory == "/" || placements_.is_ours(parent_of(directory))) return;
      }
    };
    const auto& all = placements_.all();
    for (const Placement& p : all) {
      if (!placements_.is_guarded(p)) continue;
      if (p.is_system) {  // a package replaces its files, not the directories above
        directories.try_emplace(std::string(parent_of(p.path)), true);
      } else {
        watch_above(p.path, p.kind == PlacementKind::kCover);
      }
    }
    for (const ViewRoot& root : view_.absent) {
      if (placements_.is_guarded(root)) watch_above(root.node.path, false);
    }
    for (const ViewProtect& protect : view_.protects) {
      if (placements_.is_guarded(protect)) watch_above(protect.node.path, false);
    }
    for (const auto& [directory, only_system] : directories) {
      add(op::Watch{text(directory), only_system});
    }
    for (const Placement& p : all) {
      if (placements_.is_guarded(p)) guard(p);
    }
    for (const ViewRoot& root : view_.absent) {
      if (!placements_.is_guarded(root)) continue;
      const bool hides = root.access == Access::kNone;
      add_guard(
          root.node.path, hides ? GuardKind::kCover : GuardKind::kBind,
          hides ? kMaskAttributes : kReadOnlyAttributes | (root.noexec ? sys::kMountAttrNoexec : 0),
          kGuardStartsAbsent | (hides ? kGuardMayVanish : std::uint64_t{0}));
    }
    for (const ViewProtect& protect : view_.protects) {
      if (!placements_.is_guarded(protect)) continue;
      add_guard(protect.node.path, GuardKind::kNever, 0, kGuardStartsAbsent);
      builder_.plan().taken_away.push_back(protect.node.path);
    }
  }

  void guard(const Placement& p) {
    switch (p.kind) {
      case PlacementKind::kBind: {
        const bool only_holds = p.shown_as.empty();
        const bool is_real = p.kept == nullptr;  // what is at its path stands there outside as well
        add_guard(p.path, is_real ? GuardKind::kBind : GuardKind::kFixed, p.attributes,
                  only_holds ? kGuardMayVanish | kGuardQuiet : std::uint64_t{0});
        return;
      }
      case PlacementKind::kCover:
        add_guard(p.path, GuardKind::kCover, p.attributes,
                  kGuardMayVanish | kGuardLink | kGuardSystem);
        return;
      case PlacementKind::kMask: {
        // One that holds roots of its own cannot be made again; one for a protected path must be
        // there.
        const bool is_plain = is_plain_mask(p);
        std::uint64_t flags = 0;
        if (p.is_system) flags |= kGuardSystem;
        if (is_plain && (p.is_system || p.shown_as == "none")) flags |= kGuardMayVanish;
        add_guard(p.path, is_plain ? GuardKind::kCover : GuardKind::kFixed, p.attributes, flags);
        return;
      }
      case PlacementKind::kInside:
      case PlacementKind::kOverlay:
        add_guard(p.path, GuardKind::kFixed, p.attributes, 0);
        return;
    }
  }

  void add_guard(std::string_view path, GuardKind kind, std::uint64_t attributes,
                 std::uint64_t flags) {
    const bool is_fixed = options_.nested_userns && kind != GuardKind::kNever;
    add(op::Guard{.path = text(path),
                  .kind = is_fixed ? GuardKind::kFixed : kind,
                  .attributes = attributes,
                  .flags = flags});
  }

  // --- /etc, /dev, /proc ---

  void make_etc() {
    if (placements_.has_host_root()) return;  // the host's own
    for (const Link& link : view_.system_links) make_link(relative(link.path), link.target);
    for (const Link& link : view_.tool_links) {
      if (!is_ours(parent_of(link.path))) continue;  // shown already, with its directory
      make_parents(link.path);
      make_link(relative(link.path), link.target);
    }
    make_common_places();
    if (!is_ours("/etc")) return;  // the host's stands there
    make_dir("etc", 0755);
    for (const auto& [name, content] : own_etc_files()) {
      const std::string path = "/etc/" + name;
      if (!placements_.has(path)) make_file(relative(path), content, 0644);
    }
    if (const auto* const http = input_.policy.sandbox.http.get(); http != nullptr) {
      make_parents(http->trust_path);
      make_file(relative(http->trust_path), http->trust_bundle, 0644);
    }
  }

  // Made apart and covered with, where the host has its own.
  void make_own_etc_files() {
    if (view_.etc_own.empty()) return;
    make_dir(kOwnEtc, 0755);
    for (const auto& [name, content] : own_etc_files()) {
      if (placements_.has_host_root() &&
          !is_own_over_host(name, input_.policy.sandbox.network.mode)) {
        continue;
      }
      make_file(std::string(kOwnEtc) + "/" + name, content, 0644);
    }
    if (const auto* const http = input_.policy.sandbox.http.get(); http != nullptr) {
      const std::string& path = http->trust_path;
      make_file(std::string(kOwnEtc) + path.substr(path.rfind('/')), http->trust_bundle, 0644);
    }
  }

  // By name: those of kOwnEtcFiles.
  std::map<std::string, std::string> own_etc_files() const {
    const HostFacts& facts = input_.facts;
    const std::string home = builder_.plan().home.empty() ? "/" : builder_.plan().home;
    const std::string uid = std::to_string(facts.uid);
    const std::string gid = std::to_string(facts.gid);
    std::string passwd = facts.user_name + ":x:" + uid + ":" + gid + "::" + home + ":/bin/bash\n";
    std::string group = facts.group_name + ":x:" + gid + ":\n";
    if (facts.uid != 0) passwd += "root:x:0:0::/nonexistent:/usr/sbin/nologin\n";
    if (facts.gid != 0) group += "root:x:0:\n";
    passwd += "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n";
    group += "nogroup:x:65534:\n";
    const bool asks_gateway = is_relayed(input_.policy.sandbox.network.mode);
    return {
        {"passwd", passwd},
        {"group", group},
        {std::string(kHosts),
         "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n" + view_.hosts},
        {"hostname", "sandbox\n"},
        {"nsswitch.conf",
         "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
         "protocols: files\nservices: files\nethers: files\nrpc: files\n"},
        // Any address would do: all are local there, and the gateway answers.
        {std::string(kResolvConf), asks_gateway ? "nameserver 127.0.0.53\n" : view_.resolv_conf},
    };
  }

  // Places that programs expect, where no root of the profile stands already.
  void make_common_places() {
    if (is_ours("/var")) {
      make_dir("var", 0755);
      make_link("var/run", "/run");
      if (is_ours("/var/tmp")) make_link("var/tmp", "/tmp");
    }
    if (is_ours("/run")) make_dir("run", 0755);
    if (!placements_.tmp_is_writable() && is_ours("/tmp")) make_dir("tmp", 0755);
    const auto* const http = input_.policy.sandbox.http.get();
    if (http == nullptr || http->java_store.empty() || !is_ours("/run")) return;
    make_dir("run/sbx", 0755);
    make_file(relative(kJavaStore), http->java_store, 0444);
    builder_.plan().shows_java_store = true;
  }

  void make_dev() {
    if (!placements_.has_host_root()) make_dir("dev", 0755);
    for (const Node& node : view_.devices) {
      if (placements_.has(node.path)) continue;
      make_dev_parents(node.path);
      make_file(relative(node.path), "", 0644);
      builder_.bind_system(node.path, relative(node.path), kDeviceAttributes);
    }
    make_link("dev/fd", "/proc/self/fd");
    make_link("dev/stdin", "/proc/self/fd/0");
    make_link("dev/stdout", "/proc/self/fd/1");
    make_link("dev/stderr", "/proc/self/fd/2");
    make_link("dev/ptmx", "pts/ptmx");
    make_dir("dev/pts", 0755);
    add(op::Mount{FileSystem::kDevpts, text("dev/pts"), text("newinstance,ptmxmode=0666,mode=0620"),
                  MS_NOSUID | MS_NOEXEC});
    if (!options_.own_ipc || !placements_.tmp_is_writable()) return;
    // Landlock refuses queues unless a rule names the root of their file system, which has to be
    // mounted for that.
    make_dir("dev/mqueue", 0755);
    add(op::Mount{FileSystem::kMqueue, text("dev/mqueue"), {}, MS_NOSUID | MS_NODEV | MS_NOEXEC});
    builder_.plan().shows_queues = true;
  }

  void make_dev_parents(std::string_view path) {
    for (std::size_t at = path.find('/', std::string_view("/dev/").size());
         at != std::string_view::npos; at = path.find('/', at + 1)) {
      make_dir(relative(path.substr(0, at)), 0755);
    }
  }

  // Where runtimes look for them.
  void show_limits() {
    if (placements_.has_host_root() || !is_ours("/sys/fs/cgroup")) return;
    make_dir("sys", 0755);
    make_dir("sys/fs", 0755);
    make_dir("sys/fs/cgroup", 0755);
    const SandboxLimits& limits = input_.policy.sandbox.limits;
    const auto show = [&](const char* path, std::optional<std::int64_t> limit) {
      make_file(path, (limit ? std::to_string(*limit) : "max") + "\n", 0444);
    };
    std::optional<std::int64_t> memory = limits.memory_mb;
    if (memory) *memory <<= 20;
    show("sys/fs/cgroup/memory.max", memory);
    show("sys/fs/cgroup/pids.max", limits.pids);
    builder_.plan().shows_limits = true;
  }

  // A root is shown where it really lies. By the name that the caller has for it, through a
  // symlink, it is found too: where that is no place of the host's, whose own symlink stands there.
  void lead_to_roots() {
    std::map<std::string_view, std::string_view> ways;  // what lies in another after it
    for (const Link& link : view_.led_to) ways.emplace(link.path, link.target);
    for (const auto& [path, target] : ways) {
      if (placements_.has(path) || !placements_.is_open(parent_of(path))) continue;
      bool is_led = false;
      for (std::string_view at = parent_of(path); at != "/"; at = parent_of(at)) {
        is_led = is_led || links_.contains(relative(at));
      }
      if (is_led) continue;
      make_parents(path);
      make_link(relative(path), target);
    }
  }

  // What the view itself took of the tmpfs is known only now.
  void size_scratch() {
    const auto& tmp_mb = input_.policy.sandbox.limits.tmp_mb;
    if (!tmp_mb) return;
    add(op::SizeTmpfs{text(placements_.has_host_root() ? "proc" : "."), kTmpfsFlags,
                      static_cast<std::uint64_t>(*tmp_mb) << 20});
  }

  void make_proc() {
    const std::string_view stage = "proc/procfs";
    if (!options_.own_proc) {
      builder_.bind(Node{"/proc", NodeKind::kDirectory, 0, 0}, "proc", kMaskAttributes);
      return;
    }
    add(op::Mount{FileSystem::kProc, text(stage), {}, MS_NOSUID | MS_NODEV | MS_NOEXEC});
    if (!options_.nested_userns && options_.own_userns) {
      // The second refusal of nested user namespaces: the kernel's own, beside the filter's.
      builder_.write_file(Layer::kMount, std::string(stage) + "/sys/user/max_user_namespaces", "0");
    }
    if (options_.own_userns) add_user_bounds(builder_, Layer::kMount, stage);
    if (options_.bounds_pids) add_pid_bound(builder_, input_, Layer::kMount, stage);
    // The kernel mounts a procfs in a namespace inside only where this one shows whole. What the
    // masks cover is root's.
    for (const std::string& name : view_.proc_masks) {
      if (options_.nested_userns) break;
      const bool is_directory = name.ends_with('/');
      const std::string path =
          std::string(stage) + "/" + name.substr(0, name.size() - is_directory);
      add(op::BindMask{text(is_directory ? kEmpty : kNoFile), text(path), false});
    }
    std::uint64_t attributes = kMaskAttributes;
    if (options_.nested_userns) {
      attributes &= ~sys::kMountAttrReadOnly;  // uid_map and gid_map are written there
    }
    report(stage, ReportTag::kProc);
    // Moved rather than cloned, so that no second, writable procfs stays below the first.
    add(op::MoveInside{text(stage), text("proc"), attributes});
  }

  PlanBuilder& builder_;
  const PlanInput& input_;
  const View& view_;
  const ViewOptions& options_;
  Placements placements_;
  std::vector<std::pair<std::string, std::uint64_t>> late_attributes_;  // path inside → attributes
  std::set<std::string> made_;                // relative paths that this plan makes
  std::set<std::string, std::less<>> links_;  // of those, symlinks
  std::string has_parents_;                   // the directory whose parents were made last
  bool has_guards_ = false;
  KeptMounts kept_mounts_;
  std::string asked_;  // is_ours_ is the answer for it
  bool is_ours_ = false;
};

}  // namespace

Status add_view(PlanBuilder& builder, const PlanInput& input, const ViewOptions& options) {
  return ViewPlanner(builder, input, options).run();
}

}  // namespace sbx
