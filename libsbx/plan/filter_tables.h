// SPDX-License-Identifier: Apache-2.0
// What the filter knows about every system call of this architecture: groups of names and numbers,
// each with a rule and the reason for it. Data only. Numbers are those of the compiler's headers,
// so that a launch resolves no name; calls newer than Linux 6.1 carry their number here (from 424
// on, numbers are the same on every architecture).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sbx {

enum class CallRule : std::uint8_t {
  kAllow,         // harmless in both modes
  kDefaultOnly,   // allowed by default, refused in strict mode
  kIpc,           // as kDefaultOnly, where an IPC namespace bounds what it can reach; else refused
  kCrossProcess,  // as kDefaultOnly, where a pid namespace bounds what it can reach; else refused
  kNamespaces,    // refused, unless the policy grants user namespaces
  kRefuse,        // EPERM, and the supervisor hears of it
  kMediated,      // allowed, or made by the supervisor where the policy mediates connections
  kPath,          // allowed; the supervisor hears of it where paths are reported
  kChange,        // as kPath, and where only changes are reported
  kHeldChange,    // of what a descriptor holds: allowed; heard of where changes are reported
  kRename,        // as kChange, and where only renames are reported
  kExec,          // as kPath, and where only execs are reported
  kAbsent,        // ENOSYS, quietly, as from a kernel without the call
  kNestedPath,    // as kPath where the policy grants user namespaces, else as kAbsent
  // Allowed for some arguments only (filter_checks.h):
  kCheckClone,
  kCheckUnshare,
  kCheckIoctl,
  kCheckFcntl,
  kCheckSocket,
  kCheckSendFlagsInArg3,
  kCheckSendFlagsInArg2,
  kCheckPersonality,
  kCheckPtrace,
  kCheckMemfd,
  kCheckExec,
  // Not on PID 1, the sandbox's own guard, which is a process of the same user:
  kCheckLimitsInArg0,      // allowed; without a pid namespace on the caller itself only
  kCheckAffinityInArg0,    // allowed
  kCheckScheduleInArg0,    // as kDefaultOnly
  kCheckPriorityInArg1,    // allowed; nor on all processes of a user (PRIO_USER)
  kCheckIoPriorityInArg1,  // as kDefaultOnly; nor on all of a user (IOPRIO_WHO_USER)
  // No set-uid and no set-gid bit in a mode; those with a path as kChange, without one as
  // kHeldChange, those that open as kChange where the flags tell of one, else as kPath:
  kCheckModeInArg1,
  kCheckPathModeInArg1,
  kCheckPathModeInArg2,
  kCheckOpenModeInArg2,
  kCheckOpenModeInArg3,
  // No id that the user namespace does not map, in an owner and the group behind it; those with a
  // path as kChange, without one as kHeldChange:
  kCheckOwnerInArg1,
  kCheckPathOwnerInArg1,
  kCheckPathOwnerInArg2,
};

struct Call {
  std::string_view name;
  int number;
};

struct CallGroup {
  CallRule rule;
  std::string_view reason;
  std::span<const Call> calls;
};

// Every number in the tables is below this one; numbers from here on are unknown.
inline constexpr int kCallLimit = 512;

// Every call is in exactly one group.
std::span<const CallGroup> call_groups();

// Those of them that change a file, or what is said of it, without having opened it for writing.
// Landlock holds none of these (truncate: from ABI 3 on).
std::span<const Call> attribute_calls();

// nullptr for a name or number that is in no group.
const Call* find_call(std::string_view name);
const Call* find_call(int number);

}  // namespace sbx
