// SPDX-License-Identifier: Apache-2.0
// The filter's promises, each written out here by name and number, apart from the tables: an entry
// that is lost from them fails the test that names it.
#include "plan/filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "plan/filter_harness.h"
#include "plan/filter_tables.h"

namespace sbx {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> list;
  for (const std::string_view word : split(text, ' ')) list.emplace_back(word);
  return list;
}

const std::vector<std::string> kAlwaysRefused = words(
    "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register add_key "
    "keyctl request_key kexec_load kexec_file_load init_module finit_module delete_module "
    "swapon swapoff reboot settimeofday clock_settime clock_adjtime adjtimex acct quotactl "
    "quotactl_fd open_by_handle_at pidfd_getfd process_madvise process_mrelease kcmp "
    "lookup_dcookie vhangup syslog nfsservctl fanotify_init fanotify_mark memfd_secret");

#if defined(__x86_64__)
const std::vector<std::string> kAlwaysRefusedOnX86 =
    words("iopl ioperm uselib _sysctl modify_ldt create_module get_kernel_syms query_module");
#endif

const std::vector<std::string> kNamespaceCalls = words(
    "mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick "
    "mount_setattr setns sethostname setdomainname");
constexpr int kOpenTreeAttr = 467;

const std::vector<std::string> kOtherProcessCalls =
    words("process_vm_readv process_vm_writev move_pages migrate_pages");

const std::vector<std::string> kDefaultOnlyCalls = words(
    "setgroups capset shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd "
    "msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr "
    "io_setup io_destroy io_getevents io_submit io_cancel io_pgetevents mbind set_mempolicy "
    "get_mempolicy set_mempolicy_home_node sched_setparam sched_setscheduler sched_setattr "
    "ioprio_set name_to_handle_at");

const std::vector<std::string> kEverydayCalls = words(
    "read write openat close close_range mmap mprotect munmap brk execve execveat "
    "exit exit_group wait4 waitid futex rt_sigaction rt_sigreturn kill getrandom statx "
    "newfstatat getdents64 fcntl renameat2 unlinkat fchmodat fchownat utimensat fsetxattr "
    "pipe2 dup3 ppoll pselect6 epoll_create1 epoll_pwait eventfd2 signalfd4 timerfd_create "
    "inotify_init1 connect accept4 bind listen recvmsg setsockopt prctl seccomp "
    "landlock_create_ruleset landlock_add_rule landlock_restrict_self prlimit64 "
    "sched_getaffinity sched_setaffinity sched_yield membarrier rseq copy_file_range splice "
    "sendfile pidfd_open pidfd_send_signal uname sysinfo getuid setsid setpgid umask "
    "clock_gettime clock_nanosleep pkey_alloc mknodat fallocate flock mremap madvise setuid "
    "setgid setreuid setregid setresuid setresgid setfsuid setfsgid set_robust_list "
    "set_tid_address");

// Calls newer than the headers, by number: the same on every architecture.
const std::vector<int> kNewerHarmless = {451, 452, 453, 454, 455, 456, 462,
                                         463, 464, 465, 466, 468, 469};
const std::vector<int> kNewerDefaultOnly = {457, 458, 459, 460, 461};

TEST(Filter, RefusesTheDangerousCallsUnderEverySpec) {
  for (const FilterSpec& spec : every_spec()) {
    const CompiledFilter filter = compiled(spec);
    for (const std::string& name : kAlwaysRefused) {
      EXPECT_EQ(fate(filter, name), FilterAction::kRefuse) << name << " " << describe(spec);
    }
#if defined(__x86_64__)
    for (const std::string& name : kAlwaysRefusedOnX86) {
      EXPECT_EQ(fate(filter, name), FilterAction::kRefuse) << name << " " << describe(spec);
    }
#endif
  }
}

TEST(Filter, NotifiesOfRefusalsOrAnswersEpermItself) {
  FilterSpec spec;
  const int mount = number_of("mount");
  ASSERT_GE(mount, 0);
  EXPECT_EQ(ret_of(compiled(spec), static_cast<std::uint32_t>(mount)), SECCOMP_RET_USER_NOTIF);
  spec.notify_refused = false;
  EXPECT_EQ(ret_of(compiled(spec), static_cast<std::uint32_t>(mount)), SECCOMP_RET_ERRNO | EPERM);
}

TEST(Filter, GrantsTheMountFamilyOnlyWithUserNamespacesAndNeverInStrictMode) {
  for (const FilterSpec& spec : every_spec()) {
    const CompiledFilter filter = compiled(spec);
    const bool granted = spec.allow_user_namespaces && spec.mode == SeccompMode::kDefault;
    const FilterAction wanted = granted ? FilterAction::kAllow : FilterAction::kRefuse;
    for (const std::string& name : kNamespaceCalls) {
      EXPECT_EQ(fate(filter, name), wanted) << name << " " << describe(spec);
    }
    EXPECT_EQ(fate(filter, kOpenTreeAttr), wanted) << describe(spec);
  }
}

TEST(Filter, AllowsEverydayCallsUnderEverySpec) {
  for (const FilterSpec& spec : every_spec()) {
    const CompiledFilter filter = compiled(spec);
    for (const std::string& name : kEverydayCalls) {
      EXPECT_EQ(fate(filter, name), FilterAction::kAllow) << name << " " << describe(spec);
    }
    for (const int number : kNewerHarmless) {
      EXPECT_EQ(fate(filter, number), FilterAction::kAllow) << number << " " << describe(spec);
    }
  }
}

TEST(Filter, StrictModeRefusesWhatOnlySomeProgramsNeed) {
  const CompiledFilter by_default = compiled(default_spec());
  const CompiledFilter strict = compiled(strict_spec());
  for (const std::string& name : kDefaultOnlyCalls) {
    EXPECT_EQ(fate(by_default, name), FilterAction::kAllow) << name;
    EXPECT_EQ(fate(strict, name), FilterAction::kRefuse) << name;
  }
  for (const int number : kNewerDefaultOnly) {
    EXPECT_EQ(fate(by_default, number), FilterAction::kAllow) << number;
    EXPECT_EQ(fate(strict, number), FilterAction::kRefuse) << number;
  }
}

TEST(Filter, AnswersClone3WithEnosysSoThatLibrariesFallBackToClone) {
  for (const FilterSpec& spec : every_spec()) {
    EXPECT_EQ(fate(compiled(spec), "clone3"), FilterAction::kUnknown) << describe(spec);
  }
}

TEST(Filter, AnswersOpenat2WithEnosysSinceItsModeIsBehindAPointer) {
  for (const FilterSpec& spec : every_spec()) {
    const bool granted = spec.allow_user_namespaces && spec.mode == SeccompMode::kDefault;
    EXPECT_EQ(fate(compiled(spec), "openat2"),
              granted ? FilterAction::kAllow : FilterAction::kUnknown)
        << describe(spec);
  }
}

TEST(Filter, AnswersEveryNumberThatItDoesNotKnowWithEnosys) {
  for (const FilterSpec& spec : every_spec()) {
    const CompiledFilter filter = compiled(spec);
    for (int number = 470; number < 2000; ++number) {
      ASSERT_EQ(fate(filter, number), FilterAction::kUnknown) << number << " " << describe(spec);
    }
#if defined(__x86_64__)
    for (int number = 337; number < 424; ++number) {
      ASSERT_EQ(fate(filter, number), FilterAction::kUnknown) << number << " " << describe(spec);
    }
    EXPECT_EQ(ret_of(filter, 0x3fffffffU), SECCOMP_RET_ERRNO | ENOSYS);
#endif
  }
}

// Whoever is told ends the process: trace/refusals.
std::uint32_t killing_ret(const FilterSpec& spec) {
  return spec.notify_refused ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_KILL_PROCESS;
}

#if defined(__x86_64__)
TEST(Filter, KillsX32NumbersButLetsATracerSkipACall) {
  for (const FilterSpec& spec : every_spec()) {
    const CompiledFilter filter = compiled(spec);
    for (const std::uint32_t number : {0x40000000U, 0x40000001U, 0x4000009bU, 0x40000200U,
                                       0x7fffffffU, 0x80000000U, 0xfffffffeU}) {
      EXPECT_EQ(ret_of(filter, number), killing_ret(spec)) << number;
    }
    EXPECT_EQ(ret_of(filter, 0xffffffffU), SECCOMP_RET_ERRNO | ENOSYS);
  }
}
#endif

TEST(Filter, KillsCallsOfEveryOtherArchitecture) {
  for (const FilterSpec& spec : every_spec()) {
    CompiledFilter filter = compiled(spec);
    const std::uint32_t native = filter.audit_arch;
    for (const std::uint32_t arch :
         {0U, std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{AUDIT_ARCH_X86_64},
          std::uint32_t{AUDIT_ARCH_AARCH64}, std::uint32_t{AUDIT_ARCH_ARM},
          std::uint32_t{AUDIT_ARCH_RISCV64}, native ^ 1U, native ^ 0x40000000U}) {
      if (arch == native) continue;
      filter.audit_arch = arch;  // what the harness puts into seccomp_data
      for (std::uint32_t number = 0; number < 600; number += 7) {
        ASSERT_EQ(ret_of(filter, number), killing_ret(spec)) << arch << " " << number;
      }
    }
  }
}

TEST(Filter, SaysWhatAForeignCallIs) {
  const std::uint32_t native = compiled(default_spec()).audit_arch;
  for (int number = 0; number < 600; ++number) EXPECT_FALSE(foreign_call(native, number)) << number;
  EXPECT_EQ(foreign_call(AUDIT_ARCH_I386, 20), "i386 getpid");
  EXPECT_EQ(foreign_call(AUDIT_ARCH_I386, 42), "i386 pipe");  // here: connect
  EXPECT_EQ(foreign_call(AUDIT_ARCH_I386, 9999), "i386 syscall_9999");
  EXPECT_EQ(foreign_call(AUDIT_ARCH_I386, -5), "i386 syscall_-5");
  EXPECT_EQ(foreign_call(AUDIT_ARCH_ARM, 20), "arm getpid");
  EXPECT_EQ(foreign_call(1, 2), "architecture 1 syscall_2");
#if defined(__x86_64__)
  EXPECT_EQ(foreign_call(native, 0x40000000), "x32 read");
  EXPECT_EQ(foreign_call(native, 0x40000000 | 511), "x32 syscall_1073742335");
  EXPECT_EQ(foreign_call(native, -2), "x32 syscall_-2");
#endif
}

TEST(Filter, RefusesCloneWithEachNamespaceFlagAndNoOther) {
  const CompiledFilter filter = compiled(default_spec());
  const std::uint64_t namespaces = 0x7e020000;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint64_t flag = std::uint64_t{1} << bit;
    const FilterAction wanted =
        (flag & namespaces) != 0 ? FilterAction::kRefuse : FilterAction::kAllow;
    EXPECT_EQ(fate(filter, "clone", {flag}), wanted) << std::hex << flag;
    EXPECT_EQ(fate(filter, "clone", {flag | kGarbage}), wanted) << std::hex << flag;
    EXPECT_EQ(fate(filter, "clone", {flag | 0x01200011}), wanted) << std::hex << flag;
  }
  EXPECT_EQ(fate(filter, "clone", {0x003d0f00}), FilterAction::kAllow) << "a thread";
}

TEST(Filter, RefusesUnshareWithEachNamespaceFlagTimeIncluded) {
  const CompiledFilter filter = compiled(default_spec());
  const std::uint64_t namespaces = 0x7e020080;
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint64_t flag = std::uint64_t{1} << bit;
    const FilterAction wanted =
        (flag & namespaces) != 0 ? FilterAction::kRefuse : FilterAction::kAllow;
    EXPECT_EQ(fate(filter, "unshare", {flag | kGarbage}), wanted) << std::hex << flag;
  }
}

TEST(Filter, GrantsNamespaceFlagsOnlyWithUserNamespaces) {
  FilterSpec spec;
  spec.allow_user_namespaces = true;
  EXPECT_EQ(fate(compiled(spec), "clone", {0x10000000}), FilterAction::kAllow);
  EXPECT_EQ(fate(compiled(spec), "unshare", {0x7e020080}), FilterAction::kAllow);
  spec.mode = SeccompMode::kStrict;
  EXPECT_EQ(fate(compiled(spec), "clone", {0x10000000}), FilterAction::kRefuse);
  EXPECT_EQ(fate(compiled(spec), "unshare", {0x7e020080}), FilterAction::kRefuse);
}

TEST(Filter, TellsAForeignOwnerApartByTheRegistersWhereBothAreHandedOver) {
  FilterSpec spec;
  spec.own_ids = {1000, 100};
  spec.report_paths = true;
  const CompiledFilter filter = compiled(spec);
  const int number = number_of("fchownat");
  const auto fault = [&](std::uint64_t uid, std::uint64_t gid, const std::optional<OwnIds>& own) {
    const Args args = {1, 2, uid, gid};
    EXPECT_EQ(ret_of(filter, static_cast<std::uint32_t>(number), args), SECCOMP_RET_USER_NOTIF);
    return fault_of(number, std::span(args).first<6>(), own);
  };
  for (const std::uint64_t same :
       {std::uint64_t{1000}, std::uint64_t{0xffffffff}, 1000 | kGarbage}) {
    EXPECT_EQ(fault(same, 100, spec.own_ids), CallFault::kNone);
    EXPECT_EQ(fault(same, 0xffffffff, spec.own_ids), CallFault::kNone);
    EXPECT_EQ(fault(same, 1000, spec.own_ids), CallFault::kForeignId);
  }
  EXPECT_EQ(fault(0, 100, spec.own_ids), CallFault::kForeignId);
  EXPECT_EQ(fault(0, 0, {}), CallFault::kNone) << "the kernel knows which there are";
}

TEST(Filter, RefusesTypingIntoTerminalsWhateverTheHighHalf) {
  for (const FilterSpec& spec : every_spec()) {
    const CompiledFilter filter = compiled(spec);
    for (const std::uint64_t high : {std::uint64_t{0}, kGarbage, std::uint64_t{1} << 32}) {
      EXPECT_EQ(fate(filter, "fcntl", {0, 1024 | high}), FilterAction::kRefuse) << "F_SETLEASE";
      EXPECT_EQ(fate(filter, "fcntl", {1024, 1025 | high}), FilterAction::kAllow) << "F_GETLEASE";
      EXPECT_EQ(fate(filter, "ioctl", {0, 0x5412 | high}), FilterAction::kRefuse) << "TIOCSTI";
      EXPECT_EQ(fate(filter, "ioctl", {0, 0x541C | high}), FilterAction::kRefuse) << "TIOCLINUX";
      EXPECT_EQ(fate(filter, "ioctl", {0, 0x5413 | high}), FilterAction::kAllow) << "TIOCGWINSZ";
      EXPECT_EQ(fate(filter, "ioctl", {0x5412, 0x5401 | high}), FilterAction::kAllow) << "TCGETS";
    }
  }
}

TEST(Filter, ReportsExecsWhereProgramsAreMaskedButNotTheCommandsOwnStart) {
  for (FilterSpec spec : every_spec()) {
    const CompiledFilter quiet = compiled(spec);
    EXPECT_TRUE(quiet.reported_calls.empty());
    spec.report_execs = true;
    const CompiledFilter filter = compiled(spec);
    const auto execve = static_cast<std::uint32_t>(number_of("execve"));
    const auto execveat = static_cast<std::uint32_t>(number_of("execveat"));
    const std::uint32_t wanted = spec.notify_refused ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
    EXPECT_EQ(ret_of(filter, execve), wanted) << describe(spec);
    EXPECT_EQ(ret_of(filter, execveat), wanted) << describe(spec);
    EXPECT_EQ(ret_of(filter, execve, {1, 2, 3, kOwnExec}), SECCOMP_RET_ALLOW) << describe(spec);
    EXPECT_EQ(fate(filter, "openat"), FilterAction::kAllow) << describe(spec);
    EXPECT_EQ(filter.reported_calls.size(), spec.notify_refused ? 2U : 0U) << describe(spec);
    EXPECT_EQ(filter.allowed_calls, quiet.allowed_calls);
    EXPECT_EQ(filter.refused_calls, quiet.refused_calls);
  }
}

TEST(Filter, ReportsEveryCallThatTakesAPathWhereThatWasAskedFor) {
  FilterSpec spec;
  spec.report_paths = true;
  const CompiledFilter filter = compiled(spec);
  for (const char* name :
       {"openat",   "execve",     "execveat",  "newfstatat", "statx",    "unlinkat",    "renameat2",
        "mkdirat",  "linkat",     "symlinkat", "mknodat",    "fchmodat", "fchownat",    "utimensat",
        "truncate", "faccessat2", "chdir",     "readlinkat", "setxattr", "lremovexattr"}) {
    const auto number = static_cast<std::uint32_t>(number_of(name));
    EXPECT_EQ(ret_of(filter, number), SECCOMP_RET_USER_NOTIF) << name;
    EXPECT_NE(std::find(filter.reported_calls.begin(), filter.reported_calls.end(),
                        static_cast<int>(number)),
              filter.reported_calls.end())
        << name;
  }
  for (const char* name : {"read", "write", "fstat", "close", "mmap", "ftruncate", "fchmod"}) {
    EXPECT_EQ(fate(filter, name), FilterAction::kAllow) << name;
  }
  EXPECT_EQ(ret_of(filter, static_cast<std::uint32_t>(number_of("execve")), {1, 2, 3, kOwnExec}),
            SECCOMP_RET_ALLOW);
}

TEST(Filter, ReportsOnlyWhatMayChangeFilesWhereNoMoreWasAskedFor) {
  FilterSpec spec;
  spec.report_changes = true;
  const CompiledFilter filter = compiled(spec);
  const auto is_told = [&](const char* name, const Args& args = {}) {
    return ret_of(filter, static_cast<std::uint32_t>(number_of(name)), args) ==
           SECCOMP_RET_USER_NOTIF;
  };
  for (const char* name : {"unlinkat", "renameat2", "mkdirat", "linkat", "symlinkat", "mknodat",
                           "fchmodat", "utimensat", "truncate", "setxattr", "lremovexattr",
                           "fchmod", "fchown", "fsetxattr", "fremovexattr"}) {
    EXPECT_TRUE(is_told(name)) << name;
  }
  for (const char* name : {"execve", "newfstatat", "statx", "faccessat2", "chdir", "readlinkat"}) {
    EXPECT_FALSE(is_told(name)) << name;
  }
  for (const std::uint64_t flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT,
                                    O_RDWR | O_TMPFILE, O_WRONLY | O_APPEND | O_CLOEXEC}) {
    EXPECT_TRUE(is_told("openat", {1, 2, flags, 0})) << flags;
    EXPECT_TRUE(is_told("openat", {1, 2, flags | kGarbage, 0})) << flags;
  }
  for (const std::uint64_t flags :
       {O_RDONLY, O_RDONLY | O_CLOEXEC | O_DIRECTORY, O_PATH | O_NOFOLLOW}) {
    EXPECT_FALSE(is_told("openat", {1, 2, flags | kGarbage, 04755})) << flags;
  }
}

TEST(Filter, ACallThatTheOperatorDeniesIsRefusedAndNotReported) {
  FilterSpec spec;
  spec.report_paths = true;
  spec.deny = {"execve", "mkdirat"};
  const CompiledFilter filter = compiled(spec);
  for (const char* name : {"execve", "mkdirat"}) {
    const int number = number_of(name);
    EXPECT_EQ(fate(filter, number), FilterAction::kRefuse);
    EXPECT_EQ(std::find(filter.reported_calls.begin(), filter.reported_calls.end(), number),
              filter.reported_calls.end());
  }
}

TEST(Filter, AllowsTheHarmlessPersonalitiesOnly) {
  const CompiledFilter filter = compiled(default_spec());
  for (const std::uint64_t value : {0U, 0x8U, 0x20000U, 0x20008U, 0x40000U, 0xffffffffU}) {
    EXPECT_EQ(fate(filter, "personality", {value | kGarbage}), FilterAction::kAllow) << value;
  }
  // READ_IMPLIES_EXEC, MMAP_PAGE_ZERO, other systems' numbers, all bits but one.
  for (const std::uint64_t value : {0x400000U, 0x100000U, 1U, 2U, 0x400008U, 0xfffffffeU}) {
    EXPECT_EQ(fate(filter, "personality", {value}), FilterAction::kRefuse) << value;
  }
}

TEST(Filter, ReachesOtherProcessesOnlyInsideAPidNamespace) {
  FilterSpec spec;
  const CompiledFilter inside = compiled(spec);
  spec.pid_namespace = false;
  const CompiledFilter outside = compiled(spec);
  for (const std::string& name : kOtherProcessCalls) {
    EXPECT_EQ(fate(inside, name), FilterAction::kAllow) << name;
    EXPECT_EQ(fate(outside, name), FilterAction::kRefuse) << name;
    EXPECT_EQ(fate(compiled(strict_spec()), name), FilterAction::kRefuse) << name;
  }
}

TEST(Filter, DebuggersOfOnesOwnChildrenWorkWithoutAPidNamespace) {
  FilterSpec spec;
  EXPECT_EQ(fate(compiled(spec), "ptrace", {16}), FilterAction::kAllow);
  spec.pid_namespace = false;
  const CompiledFilter filter = compiled(spec);
  EXPECT_EQ(fate(filter, "ptrace", {0}), FilterAction::kAllow) << "TRACEME";
  EXPECT_EQ(fate(filter, "ptrace", {24}), FilterAction::kAllow) << "SYSCALL";
  EXPECT_EQ(fate(filter, "ptrace", {0x4200}), FilterAction::kAllow) << "SETOPTIONS";
  EXPECT_EQ(fate(filter, "ptrace", {16}), FilterAction::kRefuse) << "ATTACH";
  EXPECT_EQ(fate(filter, "ptrace", {0x4206}), FilterAction::kRefuse) << "SEIZE";
  EXPECT_EQ(fate(compiled(strict_spec()), "ptrace", {0}), FilterAction::kRefuse);
}

TEST(Filter, StrictModeMakesNoExecutableMemoryFiles) {
  EXPECT_EQ(fate(compiled(default_spec()), "memfd_create", {0, 1}), FilterAction::kAllow);
  const CompiledFilter strict = compiled(strict_spec());
  EXPECT_EQ(fate(strict, "memfd_create", {8, 1}), FilterAction::kRefuse);
  EXPECT_EQ(fate(strict, "memfd_create", {0, 0x10 | kGarbage}), FilterAction::kRefuse) << "EXEC";
  EXPECT_EQ(fate(strict, "memfd_create", {0, 0x9 | kGarbage}), FilterAction::kAllow);
}

TEST(Filter, AddsAllowedNamesWithoutArgumentChecks) {
  FilterSpec spec;
  spec.allow = {"mount", "socket", "clone3", "open_tree_attr"};
  const CompiledFilter filter = compiled(spec);
  EXPECT_EQ(fate(filter, "mount"), FilterAction::kAllow);
  EXPECT_EQ(fate(filter, "socket", {17, 3, 0}), FilterAction::kAllow);
  EXPECT_EQ(fate(filter, "socketpair", {17, 3, 0}), FilterAction::kRefuse);
  EXPECT_EQ(fate(filter, "clone3"), FilterAction::kAllow);
  EXPECT_EQ(fate(filter, kOpenTreeAttr), FilterAction::kAllow);
  EXPECT_EQ(fate(filter, "umount2"), FilterAction::kRefuse);
}

TEST(Filter, DenyWinsOverAllowAndOverTheTables) {
  FilterSpec spec;
  spec.allow = {"mount", "fchmodat"};
  spec.deny = {"fchmodat", "ioctl", "mount", "clone3"};
  const CompiledFilter filter = compiled(spec);
  for (const std::string& name : spec.deny) {
    EXPECT_EQ(fate(filter, name, {0, 0x5401}), FilterAction::kRefuse) << name;
  }
}

TEST(Filter, UnknownNamesAreErrorsThatNameTheNearest) {
  FilterSpec spec;
  spec.allow = {"mount", "opanat"};
  auto filter = compile_filter(spec);
  ASSERT_FALSE(filter.ok());
  EXPECT_EQ(filter.error().code, ErrorCode::kBadValue);
  EXPECT_EQ(filter.error().where, "/seccomp/allow/1");
  EXPECT_NE(filter.error().hint.find("\"openat\""), std::string::npos) << filter.error().hint;

  spec.allow.clear();
  spec.deny = {"zzzzzzzzzzzzzzzz"};
  filter = compile_filter(spec);
  ASSERT_FALSE(filter.ok());
  EXPECT_EQ(filter.error().where, "/seccomp/deny/0");
  EXPECT_EQ(filter.error().hint, "");
}

TEST(Filter, ANameWithAZeroByteOrControlBytesIsUnknown) {
  for (const std::string& name : {std::string("mount\0x", 7), std::string("\x1b[2J"), std::string(),
                                  std::string("MOUNT"), std::string(100000, 'a')}) {
    FilterSpec spec;
    spec.allow = {name};
    const auto filter = compile_filter(spec);
    ASSERT_FALSE(filter.ok());
    EXPECT_EQ(filter.error().message.find('\x1b'), std::string::npos);
  }
}

TEST(Filter, NamesOfOtherArchitecturesAreAcceptedAndChangeNothing) {
  FilterSpec spec;
  const CompiledFilter plain = compiled(spec);
  spec.allow = {"mmap2"};
  spec.deny = {"socketcall"};
  const CompiledFilter named = compiled(spec);
  EXPECT_EQ(named.allowed_calls, plain.allowed_calls);
  EXPECT_EQ(named.refused_calls, plain.refused_calls);
}

TEST(Filter, ModeOffIsAnEmptyProgramButStillChecksNames) {
  FilterSpec spec;
  spec.mode = SeccompMode::kOff;
  const CompiledFilter filter = compiled(spec);
  EXPECT_TRUE(filter.program.empty());
  EXPECT_EQ(filter.allowed_calls + filter.refused_calls + filter.checked_calls, 0);
  spec.deny = {"no_such_call_anywhere"};
  EXPECT_FALSE(compile_filter(spec).ok());
}

TEST(Filter, CountsWhatItDecidesForEachCall) {
  for (const FilterSpec& spec : every_spec()) {
    const CompiledFilter filter = compiled(spec);
    int known = 0;
    for (const CallGroup& group : call_groups()) {
      if (group.rule != CallRule::kAbsent) known += static_cast<int>(group.calls.size());
    }
    if (fate(filter, "openat2") == FilterAction::kUnknown) --known;
    EXPECT_EQ(filter.allowed_calls + filter.refused_calls + filter.checked_calls, known);
    EXPECT_GT(filter.allowed_calls, 150);
    EXPECT_GT(filter.refused_calls, 30);
    EXPECT_GT(filter.checked_calls, 2);
  }
}

TEST(Filter, IsAValidAndSmallProgramUnderEverySpec) {
  for (const FilterSpec& spec : every_spec()) {
    const CompiledFilter filter = compiled(spec);
    EXPECT_EQ(bpf_fault(filter.program), "") << describe(spec);
    EXPECT_LT(filter.program.size(), 250U) << describe(spec);
  }
}

TEST(Filter, DecidesEveryCallInFewSteps) {
  const CompiledFilter filter = compiled(default_spec());
  seccomp_data data{};
  data.arch = filter.audit_arch;
  for (data.nr = 0; data.nr < 600; ++data.nr) {
    EXPECT_LE(evaluate_bpf(filter.program, data).steps, 24) << data.nr;
  }
}

TEST(FilterTables, HoldEveryCallThatLibseccompKnowsHereExactlyOnce) {
  std::set<int> numbers;
  std::set<std::string> names;
  for (const CallGroup& group : call_groups()) {
    EXPECT_FALSE(group.reason.empty());
    for (const Call& call : group.calls) {
      EXPECT_TRUE(numbers.insert(call.number).second) << call.name;
      EXPECT_TRUE(names.insert(std::string(call.name)).second) << call.name;
      EXPECT_GE(call.number, 0);
      EXPECT_LT(call.number, kCallLimit) << call.name;
    }
  }
  for (int number = 0; number < 1000; ++number) {
    char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
    if (name == nullptr) continue;
    EXPECT_EQ(numbers.count(number), 1U) << name;
    EXPECT_EQ(names.count(name), 1U) << name;
    free(name);  // libseccomp allocates with malloc
  }
}

TEST(FilterTables, GiveEachNameTheNumberThatLibseccompGives) {
  int compared = 0;
  for (const CallGroup& group : call_groups()) {
    for (const Call& call : group.calls) {
      const int number = number_of(std::string(call.name));
      if (number == __NR_SCMP_ERROR) continue;  // newer than libseccomp
      EXPECT_EQ(number, call.number) << call.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 250);
}

TEST(SyscallName, NamesKnownCallsAndNumbersTheRest) {
  EXPECT_EQ(syscall_name(number_of("mount")), "mount");
  EXPECT_EQ(syscall_name(number_of("read")), "read");
  EXPECT_EQ(syscall_name(467), "open_tree_attr");
  EXPECT_EQ(syscall_name(468), "file_getattr");
  EXPECT_EQ(syscall_name(511), "syscall_511");
  EXPECT_EQ(syscall_name(-1), "syscall_-1");
  EXPECT_EQ(syscall_name(-101), "syscall_-101");
  EXPECT_EQ(syscall_name(0x40000001), "syscall_1073741825");
}

}  // namespace
}  // namespace sbx
