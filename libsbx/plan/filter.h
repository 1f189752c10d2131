// SPDX-License-Identifier: Apache-2.0
// The seccomp filter: a policy in words → a BPF program. Pure; libseccomp is asked for names and
// numbers only. The program is a range tree over system call numbers (a handful of comparisons a
// call, and a tenth of libseccomp's load time) with argument checks behind its leaves.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace sbx {

struct FilterSpec {
  SeccompMode mode = SeccompMode::kDefault;  // kOff: compile_filter gives an empty program
  std::vector<std::string> allow;            // names added to what is allowed
  std::vector<std::string> deny;             // names refused with EPERM
  bool notify_refused = true;          // USER_NOTIF for refused dangerous calls, else ERRNO(EPERM)
  bool allow_user_namespaces = false;  // unshare/clone with CLONE_NEWUSER and what it needs
  bool network_namespace = true;  // false: what Landlock cannot refuse (UDP, fast open, MPTCP) is
  bool allow_inet = true;         // false with no network namespace and mode none: AF_INET refused
};

// What becomes of one call.
enum class FilterAction : std::uint8_t { kAllow, kRefuse, kUnknown, kKill };

struct CompiledFilter {
  std::vector<sock_filter> program;
  std::uint32_t audit_arch = 0;  // AUDIT_ARCH_* of this machine
  int allowed_calls = 0;         // for `explain`
  int refused_calls = 0;
  int checked_calls = 0;  // allowed for some arguments only
};

// Errors: kBadValue with `where` "/seccomp/allow/N" or "/seccomp/deny/N" for a name that libseccomp
// does not know on this architecture (the hint names the nearest).
Result<CompiledFilter> compile_filter(const FilterSpec& spec);

// The name of a system call number on this machine's architecture, or "syscall_N".
std::string syscall_name(int number);

}  // namespace sbx
