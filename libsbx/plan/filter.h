// SPDX-License-Identifier: Apache-2.0
// The seccomp filter: a policy in words → a BPF program. Pure; libseccomp is asked only for names
// that our own tables lack. The program is a range tree over system call numbers (a handful of
// comparisons a call, and a tenth of libseccomp's load time) with argument checks behind its
// leaves.
#pragma once

#include <linux/filter.h>
#include <netinet/in.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "profile/profile.h"

namespace sbx {

// The ids that a user namespace maps: one of each.
struct OwnIds {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};
inline constexpr std::uint32_t kUnchanged = 0xffffffffU;  // what chown(2) leaves as it is

// Of stream and datagram sockets of INET and INET6, where those are allowed.
inline constexpr std::uint32_t kInetProtocols[] = {IPPROTO_IP,   IPPROTO_TCP,    IPPROTO_UDP,
                                                   IPPROTO_ICMP, IPPROTO_ICMPV6, 262};  // MPTCP

struct FilterSpec {
  SeccompMode mode = SeccompMode::kDefault;  // kOff: compile_filter gives an empty program
  std::vector<std::string> allow;            // names added to what is allowed
  std::vector<std::string> deny;             // names refused with EPERM
  bool notify_refused = true;          // USER_NOTIF for refused dangerous calls, else ERRNO(EPERM)
  bool allow_user_namespaces = false;  // unshare/clone with CLONE_NEWUSER and what it needs
  // false: TCP fast open is refused, whoever hands a socket in. True also for network mode open,
  // where there is nothing to guard.
  bool network_namespace = true;
  // connect goes to the supervisor, which makes it on the command's behalf (connect/connects.h),
  // and Unix datagram sockets, whose sends name any socket without a connect, are refused.
  bool mediate_connect = false;
  bool allow_inet = true;  // false: AF_INET and AF_INET6 are refused
  // false: process_vm_*, move_pages and ptrace's attaching could reach the caller's other processes
  // and are refused; a child that asks to be traced (PTRACE_TRACEME) still is.
  bool pid_namespace = true;
  bool ipc_namespace = true;      // false: System V IPC would be the host's, and is refused
  std::optional<OwnIds> own_ids;  // a change of owner to any other is refused with EPERM
  // What changes a file that was not opened for writing is refused: nothing is writable, and no
  // mount view holds what Landlock does not.
  bool read_only = false;
  bool noexec_memfd = false;  // memory files only where they are sealed against execution
  // The supervisor hears of these and always lets them go on: for the report, never to enforce.
  bool report_execs = false;
  bool report_paths = false;    // every call that takes a path, execs too
  bool report_changes = false;  // those that may change what a path names, renames too
  bool report_renames = false;
};

// What becomes of one call. Of kKill, which is for foreign calls, the supervisor is told where it
// is told of refused ones: it counts it, and ends the process in the kernel's place.
enum class FilterAction : std::uint8_t { kAllow, kMediate, kRefuse, kUnknown, kKill, kReport };

// execve(2) has three arguments. One that carries this as a fourth, as sbx's own does at a launch,
// is not reported: it would wait for a supervisor that has a child to start.
inline constexpr std::uint32_t kOwnExec = 0x73627831;

struct CompiledFilter {
  std::vector<sock_filter> program;
  std::uint32_t audit_arch = 0;  // AUDIT_ARCH_* of this machine
  int allowed_calls = 0;         // for `explain`
  int refused_calls = 0;
  int checked_calls = 0;  // allowed for some arguments only
  // Those whose notifications are answered with "continue", unless fault_of() finds one.
  std::vector<int> reported_calls;
};

// Errors: kBadValue with `where` "/seccomp/allow/N" or "/seccomp/deny/N" for a name that libseccomp
// does not know (the hint names the nearest). Names of calls that only other architectures have are
// accepted and change nothing: such a call is ENOSYS here. Names are checked in mode kOff too.
// Strict mode grants no namespaces, whatever allow_user_namespaces says.
Result<CompiledFilter> compile_filter(const FilterSpec& spec);

// What is refused of a call that is allowed with other arguments, by its registers alone.
enum class CallFault : std::uint8_t {
  kNone,
  kSetIdBit,   // it would give a file the set-uid or set-gid bit
  kForeignId,  // it would give a file to an id that `own_ids` lacks
};
CallFault fault_of(int number, std::span<const std::uint64_t, 6> arguments,
                   const std::optional<OwnIds>& own_ids);

// What a call is that is foreign, "i386 getpid": of another architecture than this machine's, or
// one of x32's numbers. Its number means something else than it does here. nullopt: it is native.
std::optional<std::string> foreign_call(std::uint32_t audit_arch, int number);

// The name of a system call number on this machine's architecture, or "syscall_N".
std::string syscall_name(int number);

}  // namespace sbx
