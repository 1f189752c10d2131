// SPDX-License-Identifier: Apache-2.0
// By the marks that the runtimes leave, and by the table of mounts.
#include "host/surroundings.h"

#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr SurroundingsText kTexts[] = {
    {"host", "the machine as it is", nullptr},
    {"chroot", "the kernel makes no user namespace in a chroot",
     "start sbx-run outside of the chroot, or enter the directory as a mount namespace does: "
     "unshare --mount, then pivot_root, in place of chroot"},
    {"docker",
     "by default its seccomp filter refuses namespaces and mounts, and parts of /proc are masked",
     "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
     "--security-opt systempaths=unconfined … (or a seccomp profile that allows clone with "
     "namespace flags, mount, umount2 and pivot_root)"},
    {"podman", "by default its seccomp filter refuses sethostname, and parts of /proc are masked",
     "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL …"},
    {"kubernetes", "by default with the runtime's seccomp filter, and parts of /proc masked",
     "in the pod: hostUsers: false, and securityContext: {seccompProfile: {type: Unconfined}, "
     "procMount: Unmasked}"},
    {"systemd-nspawn", "with a filter of system calls, and parts of /proc masked",
     "start sbx-run outside of the container"},
    {"container", "by default with the runtime's seccomp filter, and parts of /proc masked",
     "have its runtime allow clone with namespace flags, mount, umount2 and pivot_root, and mask "
     "nothing of /proc; Docker's words: docker run --security-opt seccomp=unconfined "
     "--security-opt apparmor=unconfined --security-opt systempaths=unconfined …"},
};

bool is_there(const char* path) { return ::access(path, F_OK) == 0; }

// Its mounts are told by where they can be reached from /: in a chroot nothing is mounted there.
bool is_chroot() {
  const Result<std::string> mounts = read_file("/proc/self/mountinfo", std::size_t{4} << 20);
  if (!mounts.ok() || mounts.value().empty()) return false;
  for (const std::string_view line : split(mounts.value(), '\n')) {
    const std::vector<std::string_view> fields = split(line, ' ');
    if (fields.size() > 4 && fields[4] == "/") return false;
  }
  return true;
}

}  // namespace

Surroundings read_surroundings() {
  if (is_there("/var/run/secrets/kubernetes.io")) return Surroundings::kKubernetes;
  if (is_there("/.dockerenv")) return Surroundings::kDocker;
  if (is_there("/run/.containerenv")) return Surroundings::kPodman;
  const Result<std::string> named = read_file("/run/systemd/container", 64);
  if (named.ok()) {
    const bool is_nspawn = named.value().starts_with("systemd-nspawn");
    return is_nspawn ? Surroundings::kNspawn : Surroundings::kContainer;
  }
  return is_chroot() ? Surroundings::kChroot : Surroundings::kHost;
}

const SurroundingsText& surroundings_text(Surroundings where) {
  return kTexts[static_cast<std::size_t>(where)];
}

}  // namespace sbx
