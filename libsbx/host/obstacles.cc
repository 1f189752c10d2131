// SPDX-License-Identifier: Apache-2.0
// The usual causes, as kernels, distributions and container engines make them, and their mends.
#include "host/obstacles.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace sbx {
namespace {

// The first 4 KiB; empty where the file cannot be read.
std::string read_small(const char* path) {
  Result<std::string> text = read_file(path, 4096);
  return text.ok() ? std::move(text).value() : "";
}

long read_number(const char* path) {
  std::string text = read_small(path);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return static_cast<long>(parse_count(text, INT32_MAX).value_or(-1));
}

// user_namespaces(7): lines of the first id inside, the first outside, and how many.
bool is_in_map(const char* path, unsigned id) {
  const std::string map = read_small(path);
  for (const std::string_view line : split(map, '\n')) {
    std::vector<std::int64_t> numbers;
    for (const std::string_view field : split(line, ' ')) {
      if (const auto number = parse_count(field, UINT32_MAX)) numbers.push_back(*number);
    }
    if (numbers.size() == 3 && id >= numbers[0] && id < numbers[0] + numbers[2]) return true;
  }
  return false;
}

const char* limit_name(Layer layer) {
  switch (layer) {
    case Layer::kUser:
      return "max_user_namespaces";
    case Layer::kMount:
      return "max_mnt_namespaces";
    case Layer::kPid:
      return "max_pid_namespaces";
    case Layer::kNet:
      return "max_net_namespaces";
    case Layer::kIpc:
      return "max_ipc_namespaces";
    case Layer::kUts:
      return "max_uts_namespaces";
    case Layer::kCgroup:
      return "max_cgroup_namespaces";
    default:
      return nullptr;
  }
}

bool is_namespace(Layer layer) { return limit_name(layer) != nullptr; }

constexpr const char* kAppArmorMend =
    "sbx-run doctor --apparmor | sudo tee /etc/apparmor.d/sbx-run && "
    "sudo apparmor_parser -r /etc/apparmor.d/sbx-run";

// A filter is in force: where nothing tells whose, it is most likely a container's.
const char* unseal(const HostHints& hints) {
  const bool is_known = is_container(hints.surroundings);
  return surroundings_text(is_known ? hints.surroundings : Surroundings::kContainer).unseal;
}

struct Cause {
  std::string text;
  std::string hint;
};

constexpr long kAmple = 15000;  // as many namespaces as a host needs

Cause cause_of_enospc(Layer layer, const HostHints& hints) {
  const std::string name = limit_name(layer);
  const long limit = hints.max_of_layer[static_cast<std::size_t>(layer)];
  const bool user_is_zero = hints.max_user_namespaces == 0;
  if (limit == 0 || user_is_zero) {
    const std::string zero = limit == 0 ? name : "max_user_namespaces";
    return {"/proc/sys/user/" + zero + " is 0",
            "sudo sysctl -w user." + zero + "=" + std::to_string(kAmple)};
  }
  if (limit >= kAmple) {
    return {
        "an outer user namespace, sandbox or container forbids it or has reached its limit, or "
        "they are nested 32 deep",
        "start sbx-run outside of it, or have it allow namespaces within (bwrap: without "
        "--disable-userns)"};
  }
  return {
      "the limit on namespaces is reached, here or in an outer user namespace or container "
      "(/proc/sys/user/" +
          name + " is " + std::to_string(limit) + " here), or they are nested 32 deep",
      "on the host: sudo sysctl -w user." + name + "=" + std::to_string(kAmple)};
}

// What needs no guess. Without a text: it is something else.
Cause certain_cause(Layer layer, const Attempt& attempt, const HostHints& hints) {
  const std::string_view call = attempt.call;
  if (layer == Layer::kUser && hints.is_unmapped) {
    return {"the caller's uid or gid is not mapped in its user namespace",
            "map both where that is made: unshare --map-current-user, or its uid_map and gid_map"};
  }
  if (hints.is_proc_of_root && attempt.error == EACCES && call.starts_with("write(/proc")) {
    return {"the file of sbx-run cannot be read by the caller, so that its /proc/self is root's",
            "sudo chmod a+r \"$(command -v sbx-run)\""};
  }
  if (hints.lacks_setfcap && attempt.error == EPERM && call.starts_with("write(/proc")) {
    return {"root without CAP_SETFCAP cannot map its own id",
            "leave it that capability (docker run --cap-add SETFCAP …), or run as another user"};
  }
  return {};
}

Cause cause_of_refused_namespace(Layer layer, const Attempt& attempt, const HostHints& hints) {
  const int error = attempt.error;
  if (Cause cause = certain_cause(layer, attempt, hints); !cause.text.empty()) return cause;
  if (hints.unprivileged_userns_clone == 0 && !hints.privileged) {
    return {"kernel.unprivileged_userns_clone is 0 (Debian)",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1"};
  }
  if (hints.apparmor_restricts_userns == 1 && !hints.privileged) {
    return {
        "AppArmor restricts user namespaces of programs without a profile that allows them "
        "(kernel.apparmor_restrict_unprivileged_userns is 1)",
        kAppArmorMend};
  }
  // The kernel's own answer is EPERM; a security module's is EACCES.
  if (error == EACCES && !hints.apparmor_profile.empty()) {
    return {"AppArmor's profile '" + hints.apparmor_profile + "' confines sbx-run and forbids it",
            is_container(hints.surroundings) ? unseal(hints) : kAppArmorMend};
  }
  if (hints.seccomp_filtered) {
    return {is_container(hints.surroundings)
                ? "this container's seccomp filter refuses it"
                : "a seccomp filter is in force (Seccomp: 2 in /proc/self/status); "
                  "this looks like a container or another sandbox",
            unseal(hints)};
  }
  if (error == EPERM && std::string_view(attempt.call).starts_with("mount(")) {
    return {"a Landlock domain in force, as of another sandbox, refuses every mount",
            "start sbx-run outside of it, or with --allow-degraded"};
  }
  if (is_container(hints.surroundings)) {
    return {"this container has neither the capability nor leave to make namespaces",
            unseal(hints)};
  }
  if (layer == Layer::kUser && hints.surroundings == Surroundings::kChroot) {
    return {"the process is in a chroot, where the kernel makes no user namespace",
            surroundings_text(hints.surroundings).unseal};
  }
  if (layer == Layer::kUser) {
    return {
        "the process is in a chroot, its own ids are not mapped in its user namespace, or a "
        "security module refuses it",
        "start sbx-run outside of a chroot; see the kernel log (dmesg) for a security module"};
  }
  return {"without a user namespace this needs CAP_SYS_ADMIN", "mend the layer `user` first"};
}

Cause cause_for_namespace(Layer layer, const Attempt& attempt, const HostHints& hints) {
  switch (attempt.error) {
    case ENOSPC:
    case EUSERS:
      return cause_of_enospc(layer, hints);
    case EPERM:
    case EACCES:
      return cause_of_refused_namespace(layer, attempt, hints);
    case ENOSYS:
      if (layer == Layer::kMount && !std::string_view(attempt.call).starts_with("clone")) {
        if (!hints.seccomp_filtered) return {"the kernel is older than 5.13", "run a newer kernel"};
        return {"a seccomp filter hides the call, or the kernel is older than 5.13", unseal(hints)};
      }
      [[fallthrough]];
    case EINVAL:
      if (hints.surroundings == Surroundings::kChroot) {
        return {"the process is in a chroot, whose / is no mount",
                surroundings_text(hints.surroundings).unseal};
      }
      return {"this kernel is built without that kind of namespace, or a seccomp filter hides it",
              "run a kernel with CONFIG_NAMESPACES and CONFIG_USER_NS"};
    case EAGAIN:
      return {"the user is at the limit of processes (RLIMIT_NPROC)", "raise it (ulimit -u)"};
    case ENOENT:
    case EROFS:
      return {"/proc is missing or read-only", "mount -t proc proc /proc"};
    default:
      return {"", "see the kernel log (dmesg)"};
  }
}

Cause cause_for_landlock(const Attempt& attempt, const HostHints& hints) {
  if (attempt.error == E2BIG) {
    return {
        "16 Landlock rulesets are already stacked on this process: sandboxes are nested too "
        "deeply",
        "start sbx-run outside of the other sandboxes"};
  }
  if (hints.lsm_known && !hints.lsm_has_landlock) {
    return {"landlock is not in /sys/kernel/security/lsm",
            "boot with lsm=landlock,… before the modules that /sys/kernel/security/lsm lists"};
  }
  if (hints.seccomp_filtered) {
    return {"a seccomp filter hides the call", unseal(hints)};
  }
  return {"the kernel is older than 5.13 or built without Landlock",
          "run a kernel with CONFIG_SECURITY_LANDLOCK=y and lsm=landlock,… at boot"};
}

Cause cause_for_seccomp(const Attempt& attempt, const HostHints& hints) {
  if (attempt.error == EINVAL || attempt.error == ENOSYS) {
    return {"this kernel is built without seccomp filters",
            "run a kernel with CONFIG_SECCOMP_FILTER=y"};
  }
  return {hints.seccomp_filtered ? "a filter already in force refuses another one" : "",
          unseal(hints)};
}

}  // namespace

HostHints read_host_hints() {
  HostHints hints;
  for (int i = 0; i < kLayerCount; ++i) {
    const char* name = limit_name(static_cast<Layer>(i));
    if (name == nullptr) continue;
    hints.max_of_layer[i] = read_number((std::string("/proc/sys/user/") + name).c_str());
  }
  hints.max_user_namespaces = hints.max_of_layer[static_cast<std::size_t>(Layer::kUser)];
  hints.unprivileged_userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone");
  hints.apparmor_restricts_userns =
      read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  const std::string label = read_small("/proc/self/attr/apparmor/current");
  if (const std::size_t mode = label.rfind(" (enforce)"); mode != std::string::npos) {
    hints.apparmor_profile = label.substr(0, mode);
  }
  hints.seccomp_filtered =
      read_small("/proc/self/status").find("\nSeccomp:\t2") != std::string::npos;
  hints.surroundings = read_surroundings();
  const std::string lsm = read_small("/sys/kernel/security/lsm");
  hints.lsm_known = !lsm.empty();
  hints.lsm_has_landlock = lsm.find("landlock") != std::string::npos;
  hints.privileged = ::geteuid() == 0;
  hints.lacks_setfcap = hints.privileged && capng_get_caps_process() == 0 &&
                        capng_have_capability(CAPNG_EFFECTIVE, CAP_SETFCAP) == 0;
  hints.is_unmapped =
      ::access("/proc/self/uid_map", R_OK) == 0 && !(is_in_map("/proc/self/uid_map", ::geteuid()) &&
                                                     is_in_map("/proc/self/gid_map", ::getegid()));
  hints.is_proc_of_root = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1;
  return hints;
}

Obstacle explain(Layer layer, const Attempt& attempt, const HostHints& hints) {
  Obstacle obstacle;
  if (!attempt.failed()) return obstacle;
  obstacle.sys_errno = attempt.error;
  obstacle.reason = attempt.call;
  if (attempt.timed_out) {
    obstacle.reason += ": no answer within 2 s; the probe was killed";
    obstacle.hint = "see the kernel log (dmesg), and try again on a less busy machine";
    return obstacle;
  }
  obstacle.reason += ": " + errno_text(attempt.error);
  Cause cause;
  if (is_namespace(layer)) {
    cause = cause_for_namespace(layer, attempt, hints);
  } else if (layer == Layer::kLandlock) {
    cause = cause_for_landlock(attempt, hints);
  } else if (layer == Layer::kSeccomp) {
    cause = cause_for_seccomp(attempt, hints);
  } else if (hints.seccomp_filtered) {
    cause = {"a seccomp filter refuses it", unseal(hints)};
  } else {
    cause.hint = "see the kernel log (dmesg)";
  }
  if (!cause.text.empty()) obstacle.reason += "; " + cause.text;
  obstacle.hint = cause.hint;
  return obstacle;
}

}  // namespace sbx
