// SPDX-License-Identifier: Apache-2.0
// Landlock rules from the same policy as the mounts. With a mount view the rules name what the
// view shows; without one they alone hold the file policy, and a directory that holds something
// narrower is granted entry by entry, since Landlock cannot take away what a parent gives.
#include <algorithm>

#include "base/system_places.h"
#include "base/text.h"
#include "plan/builder.h"
#include "policy/http.h"
#include "sys/kernel.h"

namespace sbx {
namespace {

using namespace sys;  // NOLINT(google-build-using-namespace): constants of the kernel

constexpr std::uint64_t kRead = kLandlockFsExecute | kLandlockFsReadFile | kLandlockFsReadDir;
constexpr std::uint64_t kWrite = kRead | kLandlockFsWriteFile | kLandlockFsRemoveDir |
                                 kLandlockFsRemoveFile | kLandlockFsMakeDir | kLandlockFsMakeReg |
                                 kLandlockFsMakeSock | kLandlockFsMakeFifo | kLandlockFsMakeSym |
                                 kLandlockFsRefer | kLandlockFsTruncate;
constexpr std::uint64_t kDevice = kLandlockFsReadFile | kLandlockFsWriteFile | kLandlockFsIoctlDev;
// The rights that a rule on something that is not a directory may hold (else EINVAL).
constexpr std::uint64_t kFileRights = kLandlockFsExecute | kLandlockFsReadFile |
                                      kLandlockFsWriteFile | kLandlockFsTruncate |
                                      kLandlockFsIoctlDev;

constexpr std::size_t kMostTold = 20;

class RulePlanner {
 public:
  RulePlanner(PlanBuilder& builder, const PlanInput& input, bool has_mount_view)
      : builder_(builder),
        input_(input),
        view_(input.view),
        has_mount_view_(has_mount_view),
        handled_(landlock_fs_rights(input.facts.landlock_abi)) {
    // Only the listed programs and what they load may be executed.
    if (input.policy.sandbox.filesystem.base == Base::kTools) {
      read_ &= ~kLandlockFsExecute;
      write_ &= ~kLandlockFsExecute;
    }
  }

  void add_file_rules(bool nested_userns) {
    if (has_mount_view_) {
      allow("/", kLandlockFsReadDir, true);
      allow("/etc", read_, true);
      allow("/dev", kLandlockFsReadDir, true);
      allow("/dev/pts", kDevice | kLandlockFsReadDir, true);
      const std::uint64_t scratch = has_scratch(input_.policy.sandbox) ? write_ : read_;
      allow("/dev/shm", scratch, true);
      if (builder_.plan().shows_queues) allow("/dev/mqueue", write_ & ~kLandlockFsExecute, true);
      if (builder_.plan().shows_limits) {
        allow("/sys/fs/cgroup", kLandlockFsReadFile | kLandlockFsReadDir, true);
      }
      if (builder_.plan().shows_java_store) allow(kJavaStore, kLandlockFsReadFile, false);
      // A root of the profile at the same place has a rule of its own, perhaps a narrower one.
      if (root_at("/tmp") == nullptr) allow("/tmp", scratch, true);
      const std::string& home = builder_.plan().home;
      for (const auto& [path, node] : view_.caches) allow(path, write_, true);
      if (has_private_home() && root_at(home) == nullptr) allow(home, scratch, true);
    } else {
      if (view_.etc.kind != NodeKind::kMissing) grant(view_.etc, read_);
      for (const Node& node : {view_.scratch, view_.scratch_home}) {
        if (!node.path.empty()) allow(node, write_);
      }
    }
    // /proc lists what the pid namespace shows; writes there are for nested namespaces only.
    allow("/proc",
          kLandlockFsReadFile | kLandlockFsReadDir | (nested_userns ? kLandlockFsWriteFile : 0),
          true);
    for (const Node& node : view_.devices) {
      const bool is_plain = is_below_any(node.path, kPlainDevices);
      allow(node.path, is_plain ? kDevice & ~kLandlockFsIoctlDev : kDevice, false);
    }
    if (input_.policy.sandbox.filesystem.base == Base::kHost) {
      grant(Node{"/", NodeKind::kDirectory, 0, 0}, kRead);
    }
    for (const Node& node : view_.system) grant(node, kRead);
    for (const Node& node : view_.tools) grant(node, kRead);
    for (const ViewRoot& root : view_.roots) {
      if (root.access == Access::kNone) continue;
      const std::uint64_t rights = root.access == Access::kReadWrite ? write_ : read_;
      grant(root.node, root.noexec ? rights & ~kLandlockFsExecute : rights);
    }
    builder_.add(op::LandlockAllowHeld{kLandlockFsReadFile,
                                       handled_ & (kLandlockFsWriteFile | kLandlockFsTruncate)},
                 Layer::kLandlock);
    tell_not_listed();
  }

 private:
  bool has_private_home() const {
    return !builder_.plan().home.empty() && builder_.plan().home != "/tmp" &&
           input_.policy.sandbox.filesystem.home == HomeMode::kPrivate;
  }

  void allow(std::string_view path, std::uint64_t rights, bool is_directory, op::FileId file = {}) {
    rights &= handled_ & (is_directory ? ~std::uint64_t{0} : kFileRights);
    if (rights == 0) return;
    builder_.add(op::LandlockAllow{builder_.text(path), rights, file}, Layer::kLandlock);
  }
  // The rule is for the very file that was looked at; a file of an overlay has other numbers than
  // the one below it.
  void allow(const Node& node, std::uint64_t rights) {
    const op::FileId file = has_mount_view_ ? op::FileId{} : op::FileId{node.dev, node.ino};
    allow(node.path, rights, node.kind == NodeKind::kDirectory, file);
  }

  // Programs that the command policy denies, where no mask covers them.
  bool holds_denied(std::string_view path) const {
    return std::any_of(view_.denied.begin(), view_.denied.end(), [&](const Node& node) {
      return node.kind == NodeKind::kFile && is_below(node.path, path);
    });
  }
  bool is_denied(std::string_view path) const {
    return std::any_of(view_.denied.begin(), view_.denied.end(),
                       [&](const Node& node) { return node.path == path; });
  }

  bool is_private(std::string_view path) const {
    return std::any_of(view_.etc_private.begin(), view_.etc_private.end(),
                       [&](const Node& node) { return node.path == path; });
  }

  // Roots, protected and private paths strictly below `path` that get less than `rights`.
  bool has_narrower_below(std::string_view path, std::uint64_t rights) const {
    return std::any_of(
               view_.etc_private.begin(), view_.etc_private.end(),
               [&](const Node& node) { return node.path != path && is_below(node.path, path); }) ||
           std::any_of(view_.roots.begin(), view_.roots.end(),
                       [&](const ViewRoot& root) {
                         return root.node.path != path && is_below(root.node.path, path) &&
                                (root.access == Access::kNone ||
                                 (root.noexec && (rights & kLandlockFsExecute) != 0) ||
                                 (root.access == Access::kReadOnly && is_write(rights)));
                       }) ||
           (is_write(rights) && std::any_of(view_.protects.begin(), view_.protects.end(),
                                            [&](const ViewProtect& protect) {
                                              return !protect.is_only_reported() &&
                                                     protect.node.path != path &&
                                                     is_below(protect.node.path, path);
                                            }));
  }
  const ViewRoot* root_at(std::string_view path) const {
    for (const ViewRoot& root : view_.roots) {
      if (root.node.path == path) return &root;
    }
    return nullptr;
  }
  const ViewProtect* protect_at(std::string_view path) const {
    for (const ViewProtect& protect : view_.protects) {
      if (protect.node.path == path) return &protect;
    }
    return nullptr;
  }

  void grant(const Node& node, std::uint64_t rights) {
    const bool is_directory = node.kind == NodeKind::kDirectory;
    if (has_mount_view_ || !is_directory) return allow(node, rights);
    if (!has_narrower_below(node.path, rights)) {
      if (is_write(rights) || !holds_denied(node.path)) return allow(node, rights);
      // All of it can be read; what may be executed is named.
      allow(node, rights & ~kLandlockFsExecute);
      if ((rights & kLandlockFsExecute) != 0) grant_execution(node);
      return;
    }
    if (is_write(rights)) {
      tell(node.path +
           " is granted entry by entry, since it holds something narrower: nothing can be made, "
           "renamed or removed directly in it");
    }
    // Reading may be granted whole where nothing below is hidden.
    std::uint64_t whole = rights & read_;
    if (has_narrower_below(node.path, whole)) whole &= ~kLandlockFsExecute;
    if (!has_narrower_below(node.path, whole)) {
      allow(node, whole);
    } else {
      not_listed_.push_back(node.path);
    }
    const auto listing = view_.listings.find(node.path);
    if (listing == view_.listings.end()) return;  // nothing is granted of what cannot be listed
    for (const Node& entry : listing->second) {
      if (root_at(entry.path) != nullptr) continue;  // granted for itself
      if (is_private(entry.path)) continue;
      const bool is_protected = protect_at(entry.path) != nullptr;
      grant(entry, is_protected ? rights & read_ : rights);
    }
  }

  void tell(const std::string& what) {
    builder_.plan().degraded.push_back({"files", "without a mount namespace " + what});
  }

  void tell_not_listed() {
    if (not_listed_.empty()) return;
    const std::size_t more = not_listed_.size() - std::min(not_listed_.size(), kMostTold);
    not_listed_.resize(not_listed_.size() - more);
    tell("these directories cannot be listed, since they hold something hidden: " +
         join(not_listed_, ", ") + and_more(more));
  }

  void grant_execution(const Node& directory) {
    if (!holds_denied(directory.path)) {
      allow(directory, kLandlockFsExecute);
      return;
    }
    const auto listing = view_.listings.find(directory.path);
    if (listing == view_.listings.end()) return;
    for (const Node& entry : listing->second) {
      if (is_denied(entry.path)) continue;
      if (entry.kind == NodeKind::kDirectory) {
        grant_execution(entry);
      } else if (entry.kind == NodeKind::kFile) {
        allow(entry, kLandlockFsExecute);
      }
    }
  }

  static bool is_write(std::uint64_t rights) { return (rights & kLandlockFsWriteFile) != 0; }

  PlanBuilder& builder_;
  const PlanInput& input_;
  const View& view_;
  bool has_mount_view_;
  std::uint64_t read_ = kRead;
  std::uint64_t write_ = kWrite;
  std::uint64_t handled_;
  std::vector<std::string> not_listed_;
};

}  // namespace

void add_landlock(PlanBuilder& builder, const PlanInput& input, bool has_mount_view,
                  bool has_net_namespace, bool nested_userns) {
  const int abi = input.facts.landlock_abi;
  // Inside a network namespace of its own a command may serve and connect as it likes.
  const bool guards_network =
      !has_net_namespace && input.policy.sandbox.network.mode != NetworkMode::kOpen;
  // A domain that holds files refuses every mount, that of a sandbox inside too: there the mount
  // view, which is locked for it, holds them alone.
  const bool holds_files = !nested_userns || !has_mount_view || landlock_scopes(abi) == 0;
  std::uint64_t files = holds_files ? landlock_fs_rights(abi) : 0;
  // A rule needs the socket itself, and one that is listed may be made later.
  const NetworkProfile& network = input.policy.sandbox.network;
  if (!network.unix_sockets.empty() || network.mode == NetworkMode::kOpen) {
    files &= ~kLandlockFsResolveUnix;
  }
  builder.plan().landlock_holds_sockets = (files & kLandlockFsResolveUnix) != 0;
  builder.add(op::LandlockCreate{files, guards_network ? landlock_net_rights(abi) : 0,
                                 landlock_scopes(abi)},
              Layer::kLandlock);
  if (holds_files) {
    RulePlanner(builder, input, has_mount_view).add_file_rules(nested_userns);
  } else {
    builder.plan().warnings.push_back(
        "landlock: holds no files, since seccomp.allow lets namespaces be made inside, and no "
        "mount "
        "could be made in them; the mount view holds the files alone");
  }
  builder.add(op::LandlockRestrict{}, Layer::kLandlock);
  builder.confirm_last(Layer::kLandlock);
}

}  // namespace sbx
