// SPDX-License-Identifier: Apache-2.0
// Why a layer cannot be had: a failed attempt and what the machine says about itself → reason and
// mend. Judging is pure; only read_host_hints reads files.
#pragma once

#include <string>

#include "host/facts.h"
#include "host/surroundings.h"

namespace sbx {

// What the machine says about the usual causes. -1: the file is absent or cannot be read.
struct HostHints {
  long max_user_namespaces = -1;  // /proc/sys/user/…, of this user namespace
  long max_of_layer[kLayerCount] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  long unprivileged_userns_clone = -1;  // Debian's kernel.unprivileged_userns_clone
  long apparmor_restricts_userns = -1;  // Ubuntu's apparmor_restrict_unprivileged_userns
  std::string apparmor_profile;         // what confines this process: "docker-default"; else empty
  bool seccomp_filtered = false;        // this process already has a filter
  Surroundings surroundings = Surroundings::kHost;
  bool lsm_known = false;  // /sys/kernel/security/lsm could be read
  bool lsm_has_landlock = false;
  bool privileged = false;       // effective uid 0
  bool lacks_setfcap = false;    // and without that capability
  bool is_unmapped = false;      // user or group, in this user namespace
  bool is_proc_of_root = false;  // /proc/self: this process is not dumpable
};
HostHints read_host_hints();

// What a probe's child tried last: `call` is the system call with its arguments; error 0 means that
// all of it worked.
struct Attempt {
  const char* call = "";
  int error = 0;
  bool timed_out = false;
  bool failed() const { return error != 0 || timed_out; }
};

// An Obstacle without a reason when the attempt did not fail.
Obstacle explain(Layer layer, const Attempt& attempt, const HostHints& hints);

}  // namespace sbx
