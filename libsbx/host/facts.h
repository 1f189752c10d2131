// SPDX-License-Identifier: Apache-2.0
// HostFacts: what this kernel and machine can enforce, and who is asking. Reading them changes
// nothing on the host. The quick facts cost a few system calls; the probe forks children that try
// each namespace, and is for `doctor` and for finding out why a set-up step failed.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/limit.h"
#include "profile/profile.h"

namespace sbx {

// Why something cannot be had here, and what would mend it. An empty reason: nothing stands in
// the way, as far as known.
struct Obstacle {
  std::string reason;  // "unshare(CLONE_NEWUSER): EPERM: …; AppArmor restricts user namespaces"
  std::string hint;    // the exact command or setting
  int sys_errno = 0;
  bool present() const { return !reason.empty(); }
};

// A cgroup v2 subtree in which this process may make children with memory and pids controllers.
struct CgroupFacts {
  std::string base;  // directory below which boxes are made; empty: none
  bool must_move =
      false;           // the controllers must be enabled first, by moving this process to a leaf
  std::string reason;  // why not, when base is empty
};

struct HostFacts {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary, which stay (setgroups is denied)
  std::string user_name;      // from /etc/passwd; "user" where there is none
  std::string group_name;
  std::string home;  // from $HOME as the launcher saw it, else passwd; empty: none
  int landlock_abi = 0;
  bool seccomp_filter = true;
  bool seccomp_notify = true;
  bool clone3 = true;  // false: ENOSYS (Docker's filter); clone and pidfd_open serve
  // False: /proc is masked here, and the old one is bound instead. Where the mount or the pid layer
  // cannot be had, and so no new one either: the settings of the old one cannot be written.
  bool proc_mountable = true;
  bool overlay_on_tmpfs = true;
  std::array<Obstacle, kLayerCount> obstacles;  // by Layer
  CgroupFacts cgroup;
  std::string capabilities;  // of the caller, effective: "none", "some" or "all"; probed
  std::string kernel_release;
  std::string architecture;

  const Obstacle& obstacle(Layer layer) const { return obstacles[static_cast<std::size_t>(layer)]; }
};

// What keeps the pid namespace, where one can be had, from hiding other processes: a /proc that is
// masked. Not present where the mount or the pid layer has an obstacle of its own.
Obstacle proc_obstacle(const HostFacts& facts);

// The supplementary groups of this process.
std::vector<gid_t> read_groups();

// Reads ids, names, Landlock ABI and kernel release: no fork, no probe; obstacles stay empty
// except where a call itself tells (Landlock absent). `home` is the caller's $HOME or nullptr.
HostFacts read_quick_facts(const char* home);

// One line of passwd(5) or group(5). `home` is filled from passwd only. Empty where there is no
// such id, or where the field is not plain (a name that could forge a line of a file made of it).
struct Account {
  std::string name;
  std::string home;
};

// Finds `id` in a file of passwd(5)'s or group(5)'s form, at most its first MiB. A static program
// has no NSS: directory services are not asked.
Account read_account(const char* path, unsigned id);

// Whether RLIMIT_NPROC bounds one sandbox: it counts the processes of a user namespace since Linux
// 5.14; global root is exempt from it, and without the namespace it counts the whole user.
bool rlimit_holds_pids(const HostFacts& facts, bool has_user_namespace);
// Who holds a limit where these layers are in force.
Enforcer limit_enforcer(Limit limit, const HostFacts& facts, bool has_user_namespace,
                        bool has_mount_view);

// Fills obstacles, clone3, proc_mountable, seccomp_notify and overlay_on_tmpfs by trying each in a
// child of its own. Takes some milliseconds. Changes nothing on the host.
void probe_layers(HostFacts& facts);

// Finds a delegated cgroup v2 subtree. Reads only.
CgroupFacts find_cgroup();

}  // namespace sbx
