// SPDX-License-Identifier: Apache-2.0
// By the marks that the runtimes leave, and by the table of mounts.
#include "host/surroundings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "host/layer_places.h"

namespace sbx {
namespace {

// Each that a sandbox cannot be made without.
#define SBX_NEEDED_CALLS                                                                     \
  "clone with namespace flags, unshare, mount, umount2, pivot_root, open_tree, move_mount, " \
  "mount_setattr and sethostname"

constexpr SurroundingsText kTexts[] = {
    {"host", "the machine as it is", nullptr},
    {"chroot", "the kernel makes no user namespace in a chroot",
     "start sbx-run outside of the chroot, or enter the directory as a mount namespace does: "
     "unshare --mount, then pivot_root, in place of chroot"},
    {"docker",
     "by default its seccomp filter refuses namespaces and mounts, and parts of /proc are masked",
     "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
     "--security-opt systempaths=unconfined … (or a seccomp profile that allows " SBX_NEEDED_CALLS
     ")"},
    {"podman", "by default its seccomp filter refuses sethostname, and parts of /proc are masked",
     "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL …"},
    {"kubernetes", "by default with the runtime's seccomp filter, and parts of /proc masked",
     "in the pod: hostUsers: false, and securityContext: {seccompProfile: {type: Unconfined}, "
     "procMount: Unmasked}"},
    {"systemd-nspawn", "with a filter of system calls, and parts of /proc masked",
     "start sbx-run outside of the container"},
    {"container", "by default with the runtime's seccomp filter, and parts of /proc masked",
     "have its runtime allow " SBX_NEEDED_CALLS
     ", and mask nothing of /proc; Docker's words: docker run --security-opt seccomp=unconfined "
     "--security-opt apparmor=unconfined --security-opt systempaths=unconfined …"},
};

bool is_there(const char* path) { return ::access(path, F_OK) == 0; }

// Whether PID 1, which sees the same mounts, sees them from another root; nullopt where that cannot
// be looked at.
std::optional<bool> has_own_root() {
  struct stat of_first {
  }, own{};
  if (stat("/proc/1/ns/mnt", &of_first) != 0 || stat("/proc/self/ns/mnt", &own) != 0 ||
      of_first.st_ino != own.st_ino) {
    return std::nullopt;
  }
  struct statx there {
  }, here{};
  constexpr unsigned kWanted = STATX_INO | STATX_MNT_ID;
  if (statx(AT_FDCWD, "/proc/1/root", 0, kWanted, &there) != 0 ||
      statx(AT_FDCWD, "/", 0, kWanted, &here) != 0) {
    return std::nullopt;
  }
  return there.stx_ino != here.stx_ino || there.stx_mnt_id != here.stx_mnt_id;
}

// Else its mounts are told by where they can be reached from /: in a chroot nothing is mounted
// there, unless its directory is a mount point.
bool is_chroot() {
  if (const std::optional<bool> known = has_own_root()) return *known;
  const std::vector<std::string> mounts = mount_points(true);
  return !mounts.empty() && std::find(mounts.begin(), mounts.end(), "/") == mounts.end();
}

}  // namespace

Surroundings read_surroundings() {
  if (is_chroot()) return Surroundings::kChroot;  // which a container may hold
  if (is_there("/var/run/secrets/kubernetes.io")) return Surroundings::kKubernetes;
  if (is_there("/.dockerenv")) return Surroundings::kDocker;
  if (is_there("/run/.containerenv")) return Surroundings::kPodman;
  const Result<std::string> named = read_file("/run/systemd/container", 64);
  if (named.ok()) {
    const bool is_nspawn = named.value().starts_with("systemd-nspawn");
    return is_nspawn ? Surroundings::kNspawn : Surroundings::kContainer;
  }
  return Surroundings::kHost;
}

const SurroundingsText& surroundings_text(Surroundings where) {
  return kTexts[static_cast<std::size_t>(where)];
}

}  // namespace sbx
