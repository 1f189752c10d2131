// SPDX-License-Identifier: Apache-2.0
// The argument checks. Each is written so that what it does not recognise is refused, except where
// the call is a large multiplexer (ioctl, ptrace) and only what is known to be harmful is refused.
#include "plan/filter_checks.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/personality.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <iterator>
#include <utility>

namespace sbx {
namespace {

constexpr std::uint32_t kWhole = 0xffffffffU;
constexpr std::uint32_t kPidOne = 1;

// CLONE_NEWTIME is 0x80: a flag for unshare, but part of the exit signal's byte for clone.
constexpr std::uint32_t kCloneNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                           CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                           CLONE_NEWNET;
constexpr std::uint32_t kNewTime = 0x80;
// Debian's <linux/ioprio.h> of 6.1.192 names a parameter `class`: no C++.
constexpr std::uint32_t kIoPriorityOfUser = 3;  // IOPRIO_WHO_USER
constexpr std::uint32_t kMfdNoexecSeal = 0x8;   // Linux 6.3
constexpr std::uint32_t kSocketTypeMask = 0xf;

class CheckBuilder {
 public:
  explicit CheckBuilder(const FilterSpec& spec, FilterAction allowed = FilterAction::kAllow)
      : allow_(action_return(allowed, spec)), refuse_(action_return(FilterAction::kRefuse, spec)) {}

  CheckBuilder& allow_if(std::vector<ArgCondition> conditions) {
    check_.rules.push_back({std::move(conditions), allow_});
    return *this;
  }
  CheckBuilder& leave_if(ArgCondition condition) {
    check_.rules.push_back({{std::move(condition)}, SECCOMP_RET_ALLOW});
    return *this;
  }
  // Where the supervisor would let what it hears of go on.
  CheckBuilder& fail_if(ArgCondition condition) {
    check_.rules.push_back({{std::move(condition)}, SECCOMP_RET_ERRNO | EPERM});
    return *this;
  }
  CheckBuilder& refuse_if(std::vector<ArgCondition> conditions) {
    check_.rules.push_back({std::move(conditions), refuse_});
    return *this;
  }
  ArgCheck otherwise_allow() { return finish(allow_); }
  ArgCheck otherwise_refuse() { return finish(refuse_); }

 private:
  ArgCheck finish(std::uint32_t ret) {
    check_.otherwise = ret;
    return std::move(check_);
  }

  std::uint32_t allow_;
  std::uint32_t refuse_;
  ArgCheck check_;
};

// Domain, type and protocol are ints. Of INET, everything that is not TCP or UDP over IP, or ping's
// datagram sockets, is refused: raw sockets, and protocols whose modules the kernel would load.
ArgCheck socket_check(const FilterSpec& spec) {
  const bool strict = spec.mode == SeccompMode::kStrict;
  CheckBuilder check(spec);
  if (spec.mediate_connect) {
    check.allow_if({{0, kWhole, {AF_UNIX}}, {1, kSocketTypeMask, {SOCK_STREAM, SOCK_SEQPACKET}}});
  } else {
    check.allow_if({{0, kWhole, {AF_UNIX}}});
  }
  if (!strict) {
    check.allow_if({{0, kWhole, {AF_NETLINK}},
                    {2, kWhole, {NETLINK_ROUTE, NETLINK_SOCK_DIAG, NETLINK_GENERIC}}});
  }
  if (spec.allow_inet) {
    check.allow_if({{0, kWhole, {AF_INET, AF_INET6}},
                    {1, kSocketTypeMask, {SOCK_STREAM, SOCK_DGRAM}},
                    {2, kWhole, {std::begin(kInetProtocols), std::end(kInetProtocols)}}});
  }
  return check.otherwise_refuse();
}

ArgCheck flags_check(const FilterSpec& spec, std::uint8_t arg, std::uint32_t refused) {
  return CheckBuilder(spec).allow_if({{arg, refused, {0}}}).otherwise_refuse();
}

// Those of file systems that hand something in: flags of a file (chattr), btrfs' subvolumes. Most
// are done on a file that is open for reading.
constexpr std::uint32_t into(unsigned type) { return _IOC(_IOC_WRITE, type, 0, 0); }
constexpr std::uint32_t kIoctlKind = into(_IOC_TYPEMASK);

ArgCheck ioctl_check(const FilterSpec& spec) {
  CheckBuilder check(spec);
  check.refuse_if({{1, kWhole, {TIOCSTI, TIOCLINUX}}});
  if (spec.read_only) {
    check.refuse_if({{1, kIoctlKind, {into('f'), into('X'), into('v'), into('r'), into(0x94)}}});
  }
  return check.otherwise_allow();
}

// Whoever opens what has a lease waits for its holder, up to 45 s at a time.
ArgCheck fcntl_check(const FilterSpec& spec) {
  return CheckBuilder(spec).refuse_if({{1, kWhole, {F_SETLEASE}}}).otherwise_allow();
}

// setarch's 32-bit names and old version numbers, debuggers' fixed addresses, and the query.
ArgCheck personality_check(const FilterSpec& spec) {
  constexpr std::uint32_t kLinux32 = PER_LINUX32;
  constexpr std::uint32_t kOldVersion = UNAME26;
  constexpr std::uint32_t kFixedAddresses = ADDR_NO_RANDOMIZE;
  return CheckBuilder(spec)
      .allow_if({{0, ~(kLinux32 | kOldVersion | kFixedAddresses), {0}}})
      .allow_if({{0, kWhole, {0xffffffffU}}})
      .otherwise_refuse();
}

// Every other request works only on a tracee, and without these two a tracee is a child that asked
// for it (PTRACE_TRACEME) or a descendant of one.
ArgCheck ptrace_check(const FilterSpec& spec) {
  return CheckBuilder(spec)
      .refuse_if({{0, kWhole, {PTRACE_ATTACH, PTRACE_SEIZE}}})
      .otherwise_allow();
}

ArgCheck memfd_check(const FilterSpec& spec) {
  return CheckBuilder(spec).allow_if({{1, kMfdNoexecSeal, {kMfdNoexecSeal}}}).otherwise_refuse();
}

// Strict mode grants none.
bool grants_namespaces(const FilterSpec& spec) {
  return spec.allow_user_namespaces && spec.mode != SeccompMode::kStrict;
}

ArgCheck exec_check(const FilterSpec& spec) {
  ArgCheck check;
  check.rules.push_back({{{3, kWhole, {kOwnExec}}}, action_return(FilterAction::kAllow, spec)});
  check.otherwise = action_return(FilterAction::kReport, spec);
  return check;
}

// The mode of a call that makes no file is ignored by the kernel, and so here.
ArgCheck mode_check(const FilterSpec& spec, const ModeArgs& args, bool reports) {
  CheckBuilder check(spec, reports ? FilterAction::kReport : FilterAction::kAllow);
  // Before Landlock ABI 3 a file that is opened for reading can be truncated.
  if (spec.read_only && args.open_flags) {
    check.fail_if({*args.open_flags, O_ACCMODE | O_TRUNC, {O_TRUNC, O_ACCMODE | O_TRUNC}});
  }
  if (reports && args.open_flags && !spec.report_paths) {
    check.leave_if({*args.open_flags, O_ACCMODE | O_TRUNC | kMakesFile, {O_RDONLY}});
  }
  check.allow_if({{args.mode, kSetIdBits, {0}}});
  if (args.open_flags) check.allow_if({{*args.open_flags, kMakesFile, {0}}});
  return check.otherwise_refuse();
}

// The kernel would answer EINVAL, which programs that go on without privilege do not expect.
ArgCheck owner_check(const FilterSpec& spec, std::uint8_t owner, bool reports) {
  const auto group = static_cast<std::uint8_t>(owner + 1);
  return CheckBuilder(spec, reports ? FilterAction::kReport : FilterAction::kAllow)
      .allow_if({{owner, kWhole, {kUnchanged, spec.own_ids->uid}},
                 {group, kWhole, {kUnchanged, spec.own_ids->gid}}})
      .otherwise_refuse();
}

// PID 1 has the caller's ids, which is all that these calls ask for. Without a pid namespace it has
// a number that no filter knows, and so has every other process of the caller's.
ArgCheck limits_check(const FilterSpec& spec) {
  if (!spec.pid_namespace) {
    return CheckBuilder(spec).allow_if({{0, kWhole, {0}}}).otherwise_refuse();
  }
  return CheckBuilder(spec).refuse_if({{0, kWhole, {kPidOne}}}).otherwise_allow();
}

ArgCheck not_pid_one_check(const FilterSpec& spec) {
  return CheckBuilder(spec).refuse_if({{0, kWhole, {kPidOne}}}).otherwise_allow();
}

ArgCheck priority_check(const FilterSpec& spec, std::uint32_t whole_user) {
  return CheckBuilder(spec)
      .refuse_if({{1, kWhole, {kPidOne}}})
      .refuse_if({{0, kWhole, {whole_user}}})
      .otherwise_allow();
}

FilterAction allow_or_refuse(bool allowed) {
  return allowed ? FilterAction::kAllow : FilterAction::kRefuse;
}

}  // namespace

std::uint32_t action_return(FilterAction action, const FilterSpec& spec) {
  switch (action) {
    case FilterAction::kAllow:
      return SECCOMP_RET_ALLOW;
    case FilterAction::kMediate:
    case FilterAction::kReport:
      return SECCOMP_RET_USER_NOTIF;
    case FilterAction::kRefuse:
      return spec.notify_refused ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM;
    case FilterAction::kUnknown:
      return SECCOMP_RET_ERRNO | ENOSYS;
    case FilterAction::kKill:
      break;
  }
  // Without a supervisor to tell, or once it has gone, no such call runs either: ENOSYS then.
  return spec.notify_refused ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_KILL_PROCESS;
}

bool rule_reports(CallRule rule, const FilterSpec& spec) {
  if (!spec.notify_refused) return false;
  switch (rule) {
    case CallRule::kExec:
    case CallRule::kCheckExec:
      return spec.report_paths || spec.report_execs;
    case CallRule::kRename:
      return spec.report_paths || spec.report_changes || spec.report_renames;
    case CallRule::kNestedPath:
      return spec.report_paths && grants_namespaces(spec);
    case CallRule::kPath:
      return spec.report_paths;
    case CallRule::kChange:
    case CallRule::kCheckPathModeInArg1:
    case CallRule::kCheckPathModeInArg2:
    case CallRule::kCheckOpenModeInArg2:
    case CallRule::kCheckOpenModeInArg3:
    case CallRule::kCheckPathOwnerInArg1:
    case CallRule::kCheckPathOwnerInArg2:
      return spec.report_paths || spec.report_changes;
    case CallRule::kHeldChange:
    case CallRule::kCheckModeInArg1:
    case CallRule::kCheckOwnerInArg1:
      return spec.report_changes;
    default:
      return false;
  }
}

std::optional<ModeArgs> mode_args(CallRule rule) {
  switch (rule) {
    case CallRule::kCheckModeInArg1:
    case CallRule::kCheckPathModeInArg1:
      return ModeArgs{1, std::nullopt};
    case CallRule::kCheckPathModeInArg2:
      return ModeArgs{2, std::nullopt};
    case CallRule::kCheckOpenModeInArg2:
      return ModeArgs{2, 1};
    case CallRule::kCheckOpenModeInArg3:
      return ModeArgs{3, 2};
    default:
      return std::nullopt;
  }
}

std::optional<std::uint8_t> owner_arg(CallRule rule) {
  switch (rule) {
    case CallRule::kCheckOwnerInArg1:
    case CallRule::kCheckPathOwnerInArg1:
      return 1;
    case CallRule::kCheckPathOwnerInArg2:
      return 2;
    default:
      return std::nullopt;
  }
}

std::variant<FilterAction, ArgCheck> rule_verdict(CallRule rule, const FilterSpec& spec) {
  const bool strict = spec.mode == SeccompMode::kStrict;
  const bool namespaces = grants_namespaces(spec);
  const bool reports = rule_reports(rule, spec);
  if (const auto args = mode_args(rule)) return mode_check(spec, *args, reports);
  if (const auto owner = owner_arg(rule)) {
    if (spec.own_ids) return owner_check(spec, *owner, reports);
    return reports ? FilterAction::kReport : FilterAction::kAllow;
  }
  switch (rule) {
    case CallRule::kAllow:
      return FilterAction::kAllow;
    case CallRule::kDefaultOnly:
      return allow_or_refuse(!strict);
    case CallRule::kIpc:
      return allow_or_refuse(!strict && spec.ipc_namespace);
    case CallRule::kCrossProcess:
      return allow_or_refuse(!strict && spec.pid_namespace);
    case CallRule::kNamespaces:
      return allow_or_refuse(namespaces);
    case CallRule::kRefuse:
      return FilterAction::kRefuse;
    case CallRule::kMediated:
      return spec.mediate_connect ? FilterAction::kMediate : FilterAction::kAllow;
    case CallRule::kPath:
    case CallRule::kChange:
    case CallRule::kHeldChange:
    case CallRule::kRename:
    case CallRule::kExec:
      return reports ? FilterAction::kReport : FilterAction::kAllow;
    case CallRule::kNestedPath:
      if (!namespaces) return FilterAction::kUnknown;
      return reports ? FilterAction::kReport : FilterAction::kAllow;
    case CallRule::kCheckExec:
      if (!reports) return FilterAction::kAllow;
      return exec_check(spec);
    case CallRule::kAbsent:
      return FilterAction::kUnknown;
    case CallRule::kCheckClone:
      if (namespaces) return FilterAction::kAllow;
      return flags_check(spec, 0, kCloneNamespaces);
    case CallRule::kCheckUnshare:
      if (namespaces) return FilterAction::kAllow;
      return flags_check(spec, 0, kCloneNamespaces | kNewTime);
    case CallRule::kCheckIoctl:
      return ioctl_check(spec);
    case CallRule::kCheckFcntl:
      return fcntl_check(spec);
    case CallRule::kCheckSocket:
      return socket_check(spec);
    case CallRule::kCheckSendFlagsInArg3:
      if (spec.network_namespace) return FilterAction::kAllow;
      return flags_check(spec, 3, MSG_FASTOPEN);
    case CallRule::kCheckSendFlagsInArg2:
      if (spec.network_namespace) return FilterAction::kAllow;
      return flags_check(spec, 2, MSG_FASTOPEN);
    case CallRule::kCheckPersonality:
      return personality_check(spec);
    case CallRule::kCheckPtrace:
      if (strict) return FilterAction::kRefuse;
      if (spec.pid_namespace) return FilterAction::kAllow;
      return ptrace_check(spec);
    case CallRule::kCheckMemfd:
      if (!strict && !spec.noexec_memfd) return FilterAction::kAllow;
      return memfd_check(spec);
    case CallRule::kCheckLimitsInArg0:
      return limits_check(spec);
    case CallRule::kCheckAffinityInArg0:
      if (!spec.pid_namespace) return FilterAction::kAllow;
      return not_pid_one_check(spec);
    case CallRule::kCheckScheduleInArg0:
      if (strict) return FilterAction::kRefuse;
      if (!spec.pid_namespace) return FilterAction::kAllow;
      return not_pid_one_check(spec);
    case CallRule::kCheckPriorityInArg1:
      return priority_check(spec, PRIO_USER);
    case CallRule::kCheckIoPriorityInArg1:
      if (strict) return FilterAction::kRefuse;
      return priority_check(spec, kIoPriorityOfUser);
    case CallRule::kCheckModeInArg1:
    case CallRule::kCheckPathModeInArg1:
    case CallRule::kCheckPathModeInArg2:
    case CallRule::kCheckOpenModeInArg2:
    case CallRule::kCheckOpenModeInArg3:
    case CallRule::kCheckOwnerInArg1:
    case CallRule::kCheckPathOwnerInArg1:
    case CallRule::kCheckPathOwnerInArg2:
      break;  // above
  }
  return FilterAction::kRefuse;
}

}  // namespace sbx
