// SPDX-License-Identifier: Apache-2.0
// The mount view as operations: a private root, everything that the policy shows placed in it with
// parents first (so that the most specific path wins, in whatever order it was written), pivot.
// Inside the new root every path is relative; `proc/` there is the workshop: a part of the tmpfs
// that holds the writable directories and the masks, and is covered by procfs in the end.
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "plan/builder.h"
#include "sys/kernel.h"

namespace sbx {
namespace {

constexpr std::uint64_t kReadOnlyAttributes =
    sys::kMountAttrReadOnly | sys::kMountAttrNosuid | sys::kMountAttrNodev;
constexpr std::uint64_t kWritableAttributes = sys::kMountAttrNosuid | sys::kMountAttrNodev;
// Device nodes themselves are read-only: data still flows, but no mode or time changes on the host.
constexpr std::uint64_t kDeviceAttributes =
    sys::kMountAttrReadOnly | sys::kMountAttrNosuid | sys::kMountAttrNoexec;
constexpr std::uint64_t kMaskAttributes = kReadOnlyAttributes | sys::kMountAttrNoexec;

// kDenied: a mask for a file that only root can change, in one call.
enum class Kind : std::uint8_t { kBind, kInside, kMask, kOverlay, kDenied };

struct Placement {
  std::string path;
  Kind kind = Kind::kBind;
  Node source;         // for kBind and kOverlay
  std::string inside;  // workshop path, for kInside
  std::uint64_t attributes = 0;
  bool is_directory = true;
  std::string shown_as;
};

// "/a/b" → "a/b": paths are relative to the new root, where the child stands.
std::string_view relative(std::string_view path) { return path.substr(1); }

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

class ViewPlanner {
 public:
  ViewPlanner(PlanBuilder& builder, const PlanInput& input, const ViewOptions& options)
      : builder_(builder), input_(input), view_(input.view), options_(options) {}

  Status run() {
    collect();
    sort_placements();
    if (Status status = check_cwd(); !status.ok()) return status;
    // In a user namespace of its own the clone has done that: mount_namespaces(7).
    if (!options_.own_userns) add(OpKind::kPrivateMounts);
    make_root();
    make_workshop();
    for (Placement& placement : placements_) place(placement);
    make_etc();
    make_dev();
    make_proc();
    for (const auto& [path, attributes] : late_attributes_) set_attributes(path, attributes);
    if (!has_host_root_) set_attributes(".", kReadOnlyAttributes);
    add(OpKind::kPivot);
    builder_.confirm_last(Layer::kMount);
    return {};
  }

 private:
  Op& add(OpKind kind) { return builder_.add(kind, Layer::kMount); }

  const FilesystemProfile& filesystem() const { return input_.policy.profile.filesystem; }
  bool tmp_is_writable() const { return input_.policy.profile.limits.tmp_mb.value_or(1) > 0; }

  // --- what is shown, as placements ---

  void collect() {
    for (const ViewRoot& root : view_.roots) {
      if (root.node.path == "/") host_root_ = &root;
    }
    if (filesystem().base == Base::kHost || host_root_ != nullptr) {
      has_host_root_ = true;
      for (const Node& node : view_.host_masks) {
        placements_.push_back(
            {node.path, Kind::kInside, {}, "proc/void", kMaskAttributes, true, ""});
      }
      placements_.push_back({"/dev",
                             Kind::kInside,
                             {},
                             "proc/dev",
                             kWritableAttributes & ~sys::kMountAttrNodev,
                             true,
                             ""});
      late_attributes_.emplace_back("dev", kDeviceAttributes);
    }
    if (!has_host_root_) collect_base();
    if (tmp_is_writable()) {
      inside("/tmp", "proc/tmp", "private");
    } else if (has_host_root_) {
      placements_.push_back(
          {"/tmp", Kind::kInside, {}, "proc/tmp", kReadOnlyAttributes, true, "empty"});
    }
    placements_.push_back({"/dev/shm",
                           Kind::kInside,
                           {},
                           "proc/shm",
                           tmp_is_writable() ? kWritableAttributes : kReadOnlyAttributes,
                           true,
                           ""});
    collect_home();
    for (const ViewRoot& root : view_.roots) {
      if (root.node.path != "/") collect_root(root);
    }
    for (const ViewRoot& root : view_.roots) hold_parents(root);
    for (const ViewProtect& protect : view_.protects) collect_protect(protect);
    collect_denied();
    if (filesystem().base == Base::kTools) forbid_execution();
  }

  // Whatever name a command makes up at run time, there is nothing to be executed there.
  void collect_denied() {
    for (const Node& node : view_.denied) {
      if (!is_shown(node.path) || !is_from_the_host(node.path)) continue;
      const bool is_link = node.kind == NodeKind::kLink;
      placements_.push_back({node.path,
                             is_link ? Kind::kMask : Kind::kDenied,
                             {},
                             is_link ? "proc/nofile" : "proc/denied",
                             kMaskAttributes,
                             false,
                             ""});
    }
  }

  // Whether the deepest placement above the path is a directory of the host's.
  bool is_from_the_host(std::string_view path) const {
    const Placement* deepest = nullptr;
    for (const Placement& p : placements_) {
      if (!is_below(path, p.path)) continue;
      if (deepest == nullptr || p.path.size() > deepest->path.size()) deepest = &p;
    }
    if (deepest == nullptr) return has_host_root_;
    return deepest->path != path &&
           (deepest->kind == Kind::kBind || deepest->kind == Kind::kOverlay);
  }

  // Only the listed programs and what they load: nothing that the command or a root brings along.
  void forbid_execution() {
    for (Placement& p : placements_) {
      const bool is_tool = std::any_of(view_.tools.begin(), view_.tools.end(),
                                       [&](const Node& node) { return node.path == p.path; });
      if (!is_tool || root_at(p.path) != nullptr) p.attributes |= sys::kMountAttrNoexec;
    }
  }
  const ViewRoot* root_at(std::string_view path) const {
    for (const ViewRoot& root : view_.roots) {
      if (root.node.path == path) return &root;
    }
    return nullptr;
  }

  void collect_base() {
    for (const Node& node : view_.system) bind_system(node, "ro");
    for (const Node& node : view_.tools) {
      // A directory of PATH may be the user's own.
      if (is_below(node.path, "/usr") && !is_below(node.path, "/usr/local")) {
        bind_system(node, "ro");
      } else {
        bind(node, kReadOnlyAttributes, "ro");
      }
    }
    for (const Node& node : view_.etc_binds) bind_system(node, "");
  }

  void bind(const Node& node, std::uint64_t attributes, std::string_view shown_as) {
    placements_.push_back({node.path, Kind::kBind, node, "", attributes,
                           node.kind == NodeKind::kDirectory, std::string(shown_as)});
  }
  // Without an inode to compare: only root can change what is there.
  void bind_system(Node node, std::string_view shown_as) {
    node.ino = 0;
    bind(node, kReadOnlyAttributes, shown_as);
  }
  void inside(std::string_view path, std::string_view source, std::string_view shown_as) {
    placements_.push_back({std::string(path),
                           Kind::kInside,
                           {},
                           std::string(source),
                           kWritableAttributes,
                           true,
                           std::string(shown_as)});
  }

  void collect_home() {
    const std::string& home = input_.policy.home;
    if (home.empty() || filesystem().home == HomeMode::kNone) return;
    if (filesystem().home == HomeMode::kHost) {
      if (!has_host_root_ && view_.home.kind == NodeKind::kDirectory) {
        bind(view_.home, kReadOnlyAttributes, "ro");
      }
      return;
    }
    const bool exists = view_.home.kind == NodeKind::kDirectory && view_.home.path == home;
    if (has_host_root_ && !exists) return;  // no place to mount it on: HOME becomes /tmp
    if (tmp_is_writable()) {
      inside(home, "proc/home", "private");
    } else {
      placements_.push_back(
          {home, Kind::kInside, {}, "proc/home", kReadOnlyAttributes, true, "empty"});
    }
  }

  void collect_root(const ViewRoot& root) {
    // What nothing of the host's shows needs no mask: a private /tmp or home stays.
    if (root.access == Access::kNone && !is_shown(root.node.path)) return;
    // A root replaces whatever else was to stand at the same place.
    std::erase_if(placements_, [&](const Placement& p) { return p.path == root.node.path; });
    const bool is_directory = root.node.kind == NodeKind::kDirectory;
    switch (root.access) {
      case Access::kNone:
        placements_.push_back({root.node.path,
                               Kind::kMask,
                               {},
                               is_directory ? "proc/empty" : "proc/nofile",
                               kMaskAttributes,
                               is_directory,
                               "none"});
        return;
      case Access::kReadOnly:
        bind(root.node, kReadOnlyAttributes | exec_attribute(root.node.path), "ro");
        return;
      case Access::kReadWrite:
        bind(root.node, kWritableAttributes | exec_attribute(root.node.path), "rw");
        if (filesystem().overlay && is_directory) {
          placements_.back().kind = Kind::kOverlay;
          placements_.back().shown_as = "overlay";
        }
        return;
    }
  }

  // What the deepest root that holds `path` says of executing.
  std::uint64_t exec_attribute(std::string_view path) const {
    const ViewRoot* deepest = nullptr;
    for (const ViewRoot& root : view_.roots) {
      if (!is_below(path, root.node.path)) continue;
      if (deepest == nullptr || is_below(root.node.path, deepest->node.path)) deepest = &root;
    }
    return deepest != nullptr && deepest->noexec ? sys::kMountAttrNoexec : 0;
  }

  // A narrower root within a writable one: the directories on the way to it become mount points of
  // their own, which rename(2) refuses to move. Moved away, the root would not be found, or would
  // stand open under another name, in the next run.
  void hold_parents(const ViewRoot& root) {
    if (root.access == Access::kReadWrite || filesystem().overlay) return;
    const ViewRoot* holder = nullptr;
    for (const ViewRoot& other : view_.roots) {
      const bool above =
          other.node.path != root.node.path && is_below(root.node.path, other.node.path);
      if (above && (holder == nullptr || is_below(other.node.path, holder->node.path))) {
        holder = &other;
      }
    }
    if (holder == nullptr || holder->access != Access::kReadWrite || holder == host_root_) return;
    const std::string& path = root.node.path;
    for (std::size_t at = path.find('/', holder->node.path.size() + 1); at != std::string::npos;
         at = path.find('/', at + 1)) {
      const std::string parent = path.substr(0, at);
      if (!has_placement(parent)) {
        bind(Node{parent, NodeKind::kDirectory, 0, 0}, kWritableAttributes | exec_attribute(parent),
             "");
      }
    }
  }

  // A path that nothing shows needs no mask, and a mask would make it exist.
  bool is_shown(std::string_view path) const {
    if (has_host_root_) return true;
    const auto holds = [&](const std::string& shown) { return is_below(path, shown); };
    return std::any_of(view_.system.begin(), view_.system.end(),
                       [&](const Node& node) { return holds(node.path); }) ||
           std::any_of(view_.tools.begin(), view_.tools.end(),
                       [&](const Node& node) { return holds(node.path); }) ||
           std::any_of(view_.etc_binds.begin(), view_.etc_binds.end(),
                       [&](const Node& node) { return holds(node.path); }) ||
           std::any_of(view_.roots.begin(), view_.roots.end(), [&](const ViewRoot& root) {
             return root.access != Access::kNone && holds(root.node.path);
           });
  }

  // A protected path cannot be written, and its parents are mount points of their own: rename(2),
  // rmdir(2) and RENAME_EXCHANGE on a mount point give EBUSY.
  void collect_protect(const ViewProtect& protect) {
    if (filesystem().overlay) return;  // nothing reaches the host
    for (const Node& parent : protect.parents) {
      if (!has_placement(parent.path))
        bind(parent, kWritableAttributes | exec_attribute(parent.path), "");
    }
    if (protect.mask) {
      if (has_placement(protect.node.path)) return;
      placements_.push_back(
          {protect.node.path, Kind::kMask, {}, "proc/nofile", kMaskAttributes, false, "protected"});
      return;
    }
    if (protect.node.kind != NodeKind::kMissing) {
      if (!has_placement(protect.node.path))
        bind(protect.node, kReadOnlyAttributes | exec_attribute(protect.node.path), "protected");
      return;
    }
    if (protect.report_missing) {
      builder_.plan().report_created.push_back(protect);
      return;
    }
    if (has_placement(protect.node.path)) return;
    builder_.plan().stubs.push_back(protect.node.path);
    placements_.push_back(
        {protect.node.path, Kind::kMask, {}, "proc/empty", kMaskAttributes, true, "protected"});
  }

  bool has_placement(std::string_view path) const {
    return std::any_of(placements_.begin(), placements_.end(),
                       [&](const Placement& p) { return p.path == path; });
  }

  void sort_placements() {
    // '/' sorts before every other byte here, so that a directory comes before what lies in it.
    std::stable_sort(
        placements_.begin(), placements_.end(), [](const Placement& a, const Placement& b) {
          return std::lexicographical_compare(
              a.path.begin(), a.path.end(), b.path.begin(), b.path.end(), [](char x, char y) {
                return (x == '/' ? 0 : static_cast<unsigned char>(x) + 1) <
                       (y == '/' ? 0 : static_cast<unsigned char>(y) + 1);
              });
        });
    auto& shown = builder_.plan().shown;
    if (has_host_root_) {
      shown.emplace_back(
          "/", host_root_ != nullptr && host_root_->access == Access::kReadWrite ? "rw" : "ro");
    }
    for (const Placement& p : placements_) {
      if (!p.shown_as.empty()) shown.emplace_back(p.path, p.shown_as);
    }
  }

  // The deepest placement that holds the working directory must show something.
  Status check_cwd() const {
    const std::string& cwd = builder_.plan().cwd;
    const Placement* deepest = nullptr;
    bool leads_to_one = cwd == "/";
    for (const Placement& p : placements_) {
      if (is_below(cwd, p.path)) deepest = &p;
      if (is_below(p.path, cwd)) leads_to_one = true;
    }
    const bool masked = deepest != nullptr && deepest->kind == Kind::kMask;
    const bool fixed = is_below(cwd, "/dev") || is_below(cwd, "/proc") || is_below(cwd, "/etc");
    if (!masked && (deepest != nullptr || has_host_root_ || leads_to_one || fixed)) return {};
    return cwd_not_visible(cwd);
  }

  // --- the operations ---

  std::string tmpfs_options() const {
    const auto& tmp_mb = input_.policy.profile.limits.tmp_mb;
    std::string options = "mode=0755";
    if (tmp_mb) {
      // One MiB more than promised pays for /etc and the mount points; inodes cost kernel memory
      // that the size does not count.
      options += ",size=" + std::to_string(*tmp_mb + 1) + "m";
      options += ",nr_inodes=" + std::to_string(4096 + *tmp_mb * 512);
    }
    return options;
  }

  void mount_tmpfs(std::string_view destination) {
    Op& op = add(OpKind::kMountTmpfs);
    op.a = builder_.text(destination);
    op.b = builder_.text(tmpfs_options());
    op.flags = MS_NOSUID | MS_NODEV;
  }

  void make_root() {
    if (has_host_root_) {
      builder_.bind(Node{"/", NodeKind::kDirectory, 0, 0}, view_.staging,
                    host_root_ != nullptr && host_root_->access == Access::kReadWrite
                        ? kWritableAttributes
                        : kReadOnlyAttributes);
    } else {
      mount_tmpfs(view_.staging);
    }
    add(OpKind::kEnterRoot).a = builder_.text(view_.staging);
    if (has_host_root_) {
      mount_tmpfs("proc");
    } else {
      make_dir("proc", 0755);
    }
  }

  void make_dir(std::string_view path, unsigned mode) {
    if (!made_.insert(std::string(path)).second) return;
    Op& op = add(OpKind::kMakeDir);
    op.a = builder_.text(path);
    op.flags = mode;
  }

  void make_file(std::string_view path, std::string_view content, unsigned mode) {
    Op& op = add(OpKind::kMakeFile);
    op.a = builder_.text(path);
    op.b = builder_.content(content);
    op.b_size = static_cast<std::uint32_t>(content.size());
    op.flags = mode;
  }

  void make_link(std::string_view path, std::string_view target) {
    if (!made_.insert(std::string(path)).second) return;
    Op& op = add(OpKind::kMakeLink);
    op.a = builder_.text(path);
    op.b = builder_.text(target);
  }

  void set_attributes(std::string_view path, std::uint64_t attributes) {
    Op& op = add(OpKind::kSetAttributes);
    op.a = builder_.text(path);
    op.flags = attributes;
  }

  void bind_inside(std::string_view source, std::string_view destination,
                   std::uint64_t attributes) {
    Op& op = add(OpKind::kBindInside);
    op.b = builder_.text(source);
    op.a = builder_.text(destination);
    op.flags = attributes;
  }

  void make_workshop() {
    make_dir("proc/tmp", 01777);
    make_dir("proc/shm", 01777);
    make_dir("proc/home", 0700);
    make_dir("proc/empty", 0);
    make_dir("proc/procfs", 0555);
    make_file("proc/nofile", "", 0);
    const auto is_file = [](const Placement& p) { return p.kind == Kind::kDenied; };
    if (std::any_of(placements_.begin(), placements_.end(), is_file)) {
      make_file("proc/denied", "", 0);
      bind_inside("proc/denied", "proc/denied", kMaskAttributes);
    }
    if (has_host_root_) {
      make_dir("proc/void", 0755);
      make_dir("proc/dev", 0755);
      make_dir("proc/etc", 0755);
    }
    report("proc/tmp", ReportTag::kScratch);
  }

  void report(std::string_view path, ReportTag tag) {
    Op& op = add(OpKind::kReportFd);
    op.a = builder_.text(path);
    op.slot = static_cast<int>(tag);
  }

  // Whether the directory `path` lies on our own tmpfs. Elsewhere nothing is ever made: the host's
  // own directories stand there already, since inside and outside paths are the same.
  bool is_ours(std::string_view path) const {
    const Placement* deepest = nullptr;
    for (const Placement& p : placements_) {
      if (is_below(path, p.path)) deepest = &p;
    }
    if (deepest == nullptr) return !has_host_root_;
    return deepest->kind == Kind::kInside || deepest->kind == Kind::kMask;
  }

  void make_parents(std::string_view path) {
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
    const bool has_children =
        std::any_of(placements_.begin(), placements_.end(), [&](const Placement& p) {
          return p.path != placement.path && is_below(p.path, placement.path);
        });
    if (!has_children) return;
    const std::string own = "proc/dir" + std::to_string(late_attributes_.size());
    make_dir(own, placement.kind == Kind::kMask ? 0111 : 0755);
    placement.inside = own;
    late_attributes_.emplace_back(relative(placement.path), placement.attributes);
    placement.attributes = kWritableAttributes;
  }

  void place(Placement& placement) {
    make_mount_point(placement);
    switch (placement.kind) {
      case Kind::kBind:
        if (placement.source.ino == 0 && is_ours(parent_of(placement.path))) {
          builder_.bind_system(placement.source.path, relative(placement.path),
                               placement.attributes);
        } else {
          builder_.bind(placement.source, relative(placement.path), placement.attributes);
        }
        return;
      case Kind::kOverlay:
        place_overlay(placement);
        return;
      case Kind::kDenied: {
        Op& op = add(OpKind::kBindMask);
        op.b = builder_.text(placement.inside);
        op.a = builder_.text(relative(placement.path));
        return;
      }
      case Kind::kInside:
      case Kind::kMask:
        open_for_children(placement);
        if (is_ours(parent_of(placement.path))) {
          builder_.bind_system(placement.inside, relative(placement.path), placement.attributes);
        } else {
          bind_inside(placement.inside, relative(placement.path), placement.attributes);
        }
        return;
    }
  }

  void place_overlay(const Placement& placement) {
    const std::string work = "proc/overlay" + std::to_string(builder_.plan().overlays.size());
    make_dir(work, 0755);
    for (const char* part : {"/lower", "/upper", "/work"}) make_dir(work + part, 0755);
    builder_.bind(placement.source, work + "/lower", kReadOnlyAttributes);
    Op& op = add(OpKind::kMountOverlay);
    op.a = builder_.text(relative(placement.path));
    op.b = builder_.text("lowerdir=" + work + "/lower,upperdir=" + work + "/upper,workdir=" + work +
                         "/work,userxattr");
    op.flags = MS_NOSUID | MS_NODEV;
    report(work + "/upper", ReportTag::kOverlay);
    builder_.plan().overlays.push_back(placement.path);
  }

  // --- /etc, /dev, /proc ---

  void make_etc() {
    if (has_host_root_) return;  // the host's own
    for (const Link& link : view_.system_links) make_link(relative(link.path), link.target);
    for (const Link& link : view_.tool_links) {
      if (!is_ours(parent_of(link.path))) continue;  // shown already, with its directory
      make_parents(link.path);
      make_link(relative(link.path), link.target);
    }
    make_common_places();
    if (!is_ours("/etc")) return;  // a root of the profile stands there
    make_dir("etc", 0755);
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
    etc_file("passwd", passwd);
    etc_file("group", group);
    etc_file("hosts", "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n");
    etc_file("hostname", "sandbox\n");
    etc_file("nsswitch.conf",
             "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
             "protocols: files\nservices: files\nethers: files\nrpc: files\n");
    const NetworkMode mode = input_.policy.profile.network.mode;
    if (mode == NetworkMode::kAllowlist || mode == NetworkMode::kOutbound) {
      // Any address would do: all are local there, and the gateway answers.
      etc_file("resolv.conf", "nameserver 127.0.0.53\n");
    }
    for (const EtcFile& file : view_.etc_files) {
      make_parents(file.path);
      if (made_.insert(std::string(relative(file.path))).second) {
        make_file(relative(file.path), file.content, 0644);
      }
    }
    for (const Link& link : view_.etc_links) {
      make_parents(link.path);
      make_link(relative(link.path), link.target);
    }
  }

  // Places that programs expect, where no root of the profile stands already.
  void make_common_places() {
    if (is_ours("/var")) {
      make_dir("var", 0755);
      make_link("var/run", "/run");
      if (is_ours("/var/tmp")) make_link("var/tmp", "/tmp");
    }
    if (is_ours("/run")) make_dir("run", 0755);
    if (!tmp_is_writable() && is_ours("/tmp")) make_dir("tmp", 0755);
  }

  void etc_file(std::string_view name, std::string_view content) {
    const std::string path = "/etc/" + std::string(name);
    if (has_placement(path)) return;  // a root of the profile stands there
    made_.insert("etc/" + std::string(name));
    make_file(relative(path), content, 0644);
  }

  void make_dev() {
    if (!has_host_root_) make_dir("dev", 0755);
    for (const Node& node : view_.devices) {
      if (has_placement(node.path)) continue;
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
    Op& pts = add(OpKind::kMountDevpts);
    pts.a = builder_.text("dev/pts");
    pts.b = builder_.text("newinstance,ptmxmode=0666,mode=0620");
    pts.flags = MS_NOSUID | MS_NOEXEC;
  }

  void make_dev_parents(std::string_view path) {
    for (std::size_t at = path.find('/', std::string_view("/dev/").size());
         at != std::string_view::npos; at = path.find('/', at + 1)) {
      make_dir(relative(path.substr(0, at)), 0755);
    }
  }

  void make_proc() {
    const std::string_view stage = "proc/procfs";
    if (!options_.own_proc) {
      builder_.bind(Node{"/proc", NodeKind::kDirectory, 0, 0}, "proc", kMaskAttributes);
      return;
    }
    Op& op = add(OpKind::kMountProc);
    op.a = builder_.text(stage);
    op.flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (!options_.nested_userns && options_.own_userns) {
      // The second refusal of nested user namespaces: the kernel's own, beside the filter's.
      builder_.write_file(Layer::kMount, std::string(stage) + "/sys/user/max_user_namespaces", "0");
    }
    for (const std::string& name : view_.proc_masks) {
      const bool is_directory = name.ends_with('/');
      const std::string path =
          std::string(stage) + "/" + name.substr(0, name.size() - is_directory);
      builder_.bind_system(is_directory ? "proc/empty" : "proc/nofile", path, kMaskAttributes);
    }
    std::uint64_t attributes = kMaskAttributes;
    if (options_.nested_userns) {
      attributes &= ~sys::kMountAttrReadOnly;  // uid_map and gid_map are written there
      for (const std::string& name : view_.proc_knobs) {
        const std::string path = std::string(stage) + "/" + name;
        builder_.bind_system(path, path, kMaskAttributes);
      }
    }
    report(stage, ReportTag::kProc);
    // Moved rather than cloned, so that no second, writable procfs stays below the first.
    Op& move = add(OpKind::kMoveInside);
    move.b = builder_.text(stage);
    move.a = builder_.text("proc");
    move.flags = attributes;
  }

  PlanBuilder& builder_;
  const PlanInput& input_;
  const View& view_;
  const ViewOptions& options_;
  std::vector<Placement> placements_;
  std::vector<std::pair<std::string, std::uint64_t>> late_attributes_;  // path inside → attributes
  std::set<std::string> made_;  // relative paths that this plan makes
  const ViewRoot* host_root_ = nullptr;
  bool has_host_root_ = false;
};

}  // namespace

Error cwd_not_visible(const std::string& cwd) {
  return Error{ErrorCode::kCwdNotVisible, "the working directory is not visible inside: " + cwd,
               "--cwd", "show it with --ro or --rw, or choose another with --cwd"};
}

Status add_view(PlanBuilder& builder, const PlanInput& input, const ViewOptions& options) {
  return ViewPlanner(builder, input, options).run();
}

}  // namespace sbx
