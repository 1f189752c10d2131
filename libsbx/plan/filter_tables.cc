// SPDX-License-Identifier: Apache-2.0
// The tables themselves: which calls are allowed, refused, checked or absent, and why. Names and
// numbers only: what a check looks at is in filter_checks.cc, and no policy is read here.
#include "plan/filter_tables.h"

#include <asm/unistd.h>

namespace sbx {
namespace {

// One paragraph a group, not one line a call.
// clang-format off
#define CALL(name) {#name, __NR_##name}

constexpr Call kFiles[] = {
    CALL(read), CALL(write), CALL(close), CALL(fstat), CALL(lseek), CALL(pread64), CALL(pwrite64),
    CALL(readv), CALL(writev), CALL(preadv), CALL(pwritev), CALL(preadv2), CALL(pwritev2),
    CALL(close_range), CALL(dup), CALL(dup3), CALL(flock), CALL(fsync),
    CALL(fdatasync), CALL(sync), CALL(syncfs), CALL(sync_file_range), CALL(ftruncate),
    CALL(fallocate), CALL(fadvise64), CALL(readahead), CALL(getdents64), CALL(getcwd),
    CALL(fchdir), CALL(umask), CALL(statfs), CALL(fstatfs),
    CALL(getxattr), CALL(lgetxattr), CALL(fgetxattr), CALL(listxattr),
    CALL(llistxattr), CALL(flistxattr), CALL(sendfile), CALL(splice),
    CALL(tee), CALL(vmsplice), CALL(copy_file_range), CALL(pipe2), CALL(inotify_init1),
    CALL(inotify_add_watch), CALL(inotify_rm_watch),
#ifdef __x86_64__
    CALL(pipe), CALL(dup2), CALL(getdents), CALL(inotify_init),
#endif
    {"cachestat", 451}, {"setxattrat", 463}, {"getxattrat", 464}, {"listxattrat", 465},
    {"removexattrat", 466}, {"file_getattr", 468}, {"file_setattr", 469},
};

// Those that trace/file_call.cc can read. mkdir is among them: the kernel itself takes the set-uid
// and set-gid bits out of its mode.
constexpr Call kPaths[] = {
    CALL(chdir), CALL(readlinkat), CALL(newfstatat), CALL(statx), CALL(faccessat), CALL(faccessat2),
#ifdef __x86_64__
    CALL(stat), CALL(lstat), CALL(access), CALL(readlink),
#endif
};

constexpr Call kChanges[] = {
    CALL(truncate), CALL(mkdirat), CALL(unlinkat), CALL(linkat), CALL(symlinkat), CALL(utimensat),
    CALL(setxattr), CALL(lsetxattr), CALL(removexattr), CALL(lremovexattr),
#ifdef __x86_64__
    CALL(mkdir), CALL(rmdir), CALL(link), CALL(unlink), CALL(symlink), CALL(utime), CALL(utimes),
    CALL(futimesat),
#endif
};

constexpr Call kHeldChanges[] = {
    CALL(fsetxattr), CALL(fremovexattr),
};

constexpr Call kRenames[] = {
    CALL(renameat), CALL(renameat2),
#ifdef __x86_64__
    CALL(rename),
#endif
};

constexpr Call kDescriptorMode[] = {
    CALL(fchmod),
};

#ifdef __x86_64__
constexpr Call kPathMode1[] = {
    CALL(chmod), CALL(creat), CALL(mknod),
};

constexpr Call kOpenMode2[] = {
    CALL(open),
};
#endif

constexpr Call kPathMode2[] = {
    CALL(fchmodat), CALL(mknodat), {"fchmodat2", 452},
};

constexpr Call kOpenMode3[] = {
    CALL(openat),
};

constexpr Call kDescriptorOwner[] = {
    CALL(fchown),
};

#ifdef __x86_64__
constexpr Call kPathOwner1[] = {
    CALL(chown), CALL(lchown),
};
#endif

constexpr Call kPathOwner2[] = {
    CALL(fchownat),
};

constexpr Call kUnreadablePath[] = {
    CALL(openat2),
};

constexpr Call kExec[] = {
    CALL(execve),
};

constexpr Call kExecAt[] = {
    CALL(execveat),
};

constexpr Call kMemory[] = {
    CALL(mmap), CALL(mprotect), CALL(munmap), CALL(brk), CALL(mremap), CALL(msync), CALL(mincore),
    CALL(madvise), CALL(mlock), CALL(munlock), CALL(mlockall), CALL(munlockall), CALL(mlock2),
    CALL(remap_file_pages), CALL(membarrier), CALL(pkey_mprotect), CALL(pkey_alloc),
    CALL(pkey_free), {"map_shadow_stack", 453}, {"mseal", 462},
};

constexpr Call kProcesses[] = {
    CALL(exit), CALL(exit_group), CALL(wait4), CALL(waitid),
    CALL(kill), CALL(tkill), CALL(tgkill), CALL(getpid), CALL(gettid), CALL(getppid),
    CALL(getpgid), CALL(setpgid), CALL(getsid), CALL(setsid), CALL(set_tid_address),
    CALL(set_robust_list), CALL(get_robust_list), CALL(futex), CALL(futex_waitv), CALL(rseq),
    CALL(restart_syscall), CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigreturn),
    CALL(rt_sigpending), CALL(rt_sigtimedwait), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo),
    CALL(rt_sigsuspend), CALL(sigaltstack), CALL(pidfd_open), CALL(pidfd_send_signal), CALL(prctl),
    CALL(getrlimit), CALL(setrlimit), CALL(getrusage), CALL(getpriority), CALL(sched_yield), CALL(sched_getparam), CALL(sched_getscheduler),
    CALL(sched_getattr), CALL(sched_get_priority_max), CALL(sched_get_priority_min),
    CALL(sched_rr_get_interval), CALL(sched_getaffinity),
    CALL(ioprio_get), CALL(getcpu),
#ifdef __x86_64__
    CALL(fork), CALL(vfork), CALL(pause), CALL(getpgrp), CALL(arch_prctl),
#endif
    {"futex_wake", 454}, {"futex_wait", 455}, {"futex_requeue", 456},
};

#ifdef __x86_64__
constexpr Call kProbes[] = {
    {"uretprobe", 335}, {"uprobe", 336},
};
#endif

constexpr Call kIdentity[] = {
    CALL(getuid),    CALL(geteuid), CALL(getgid), CALL(getegid), CALL(getgroups), CALL(getresuid),
    CALL(getresgid), CALL(capget),  CALL(uname),  CALL(sysinfo), CALL(times),     CALL(getrandom),
};

constexpr Call kTime[] = {
    CALL(gettimeofday), CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep),
    CALL(nanosleep), CALL(getitimer), CALL(setitimer), CALL(timer_create), CALL(timer_settime),
    CALL(timer_gettime), CALL(timer_getoverrun), CALL(timer_delete), CALL(timerfd_create),
    CALL(timerfd_settime), CALL(timerfd_gettime),
#ifdef __x86_64__
    CALL(alarm), CALL(time),
#endif
};

constexpr Call kEvents[] = {
    CALL(ppoll),       CALL(pselect6),     CALL(epoll_create1), CALL(epoll_ctl),
    CALL(epoll_pwait), CALL(epoll_pwait2), CALL(eventfd2),      CALL(signalfd4),
#ifdef __x86_64__
    CALL(poll),        CALL(select),       CALL(epoll_create),  CALL(epoll_wait),
    CALL(eventfd),     CALL(signalfd),
#endif
};

constexpr Call kSockets[] = {
    CALL(accept),     CALL(accept4),  CALL(recvfrom), CALL(recvmsg), CALL(recvmmsg),
    CALL(shutdown),   CALL(bind),     CALL(listen),   CALL(getsockname),
    CALL(getpeername), CALL(setsockopt), CALL(getsockopt),
};

constexpr Call kConnect[] = {
    CALL(connect),
};

constexpr Call kSelfSandbox[] = {
    CALL(seccomp), CALL(landlock_create_ruleset), CALL(landlock_add_rule),
    CALL(landlock_restrict_self),
};

constexpr Call kIds[] = {
    CALL(setuid), CALL(setgid), CALL(setreuid), CALL(setregid), CALL(setresuid), CALL(setresgid),
    CALL(setfsuid), CALL(setfsgid),
};

constexpr Call kPrivileges[] = {
    CALL(setgroups), CALL(capset),
};

constexpr Call kSysvIpc[] = {
    CALL(shmget),    CALL(shmat),         CALL(shmctl),       CALL(shmdt),
    CALL(semget),    CALL(semop),         CALL(semctl),       CALL(semtimedop),
    CALL(msgget),    CALL(msgsnd),        CALL(msgrcv),       CALL(msgctl),
    CALL(mq_open),   CALL(mq_unlink),     CALL(mq_timedsend), CALL(mq_timedreceive),
    CALL(mq_notify), CALL(mq_getsetattr),
};

constexpr Call kAio[] = {
    CALL(io_setup),  CALL(io_destroy), CALL(io_getevents),
    CALL(io_submit), CALL(io_cancel),  CALL(io_pgetevents),
};

constexpr Call kNuma[] = {
    CALL(mbind), CALL(set_mempolicy), CALL(get_mempolicy), CALL(set_mempolicy_home_node),
};

constexpr Call kLimits[] = {
    CALL(prlimit64),
};

constexpr Call kAffinity[] = {
    CALL(sched_setaffinity),
};

constexpr Call kScheduling[] = {
    CALL(sched_setparam), CALL(sched_setscheduler), CALL(sched_setattr),
};

constexpr Call kPriority[] = {
    CALL(setpriority),
};

constexpr Call kIoPriority[] = {
    CALL(ioprio_set),
};

constexpr Call kInspection[] = {
    CALL(name_to_handle_at),    {"statmount", 457},         {"listmount", 458},
    {"lsm_get_self_attr", 459}, {"lsm_set_self_attr", 460}, {"lsm_list_modules", 461},
};

constexpr Call kSecretMemory[] = {
    CALL(memfd_secret),
};

constexpr Call kOtherProcesses[] = {
    CALL(process_vm_readv), CALL(process_vm_writev), CALL(move_pages), CALL(migrate_pages),
};

constexpr Call kMounts[] = {
    CALL(mount),     CALL(umount2),    CALL(pivot_root),    CALL(chroot),
    CALL(open_tree), CALL(move_mount), CALL(fsopen),        CALL(fsconfig),
    CALL(fsmount),   CALL(fspick),     CALL(mount_setattr), {"open_tree_attr", 467},
};

constexpr Call kNamespaceEntry[] = {
    CALL(setns), CALL(sethostname), CALL(setdomainname),
};

constexpr Call kKernelCode[] = {
    CALL(bpf),           CALL(init_module),     CALL(finit_module),
    CALL(delete_module), CALL(kexec_load),      CALL(kexec_file_load),
#ifdef __x86_64__
    CALL(create_module), CALL(get_kernel_syms), CALL(query_module),
#endif
};

constexpr Call kKernelWindows[] = {
    CALL(perf_event_open), CALL(userfaultfd), CALL(lookup_dcookie), CALL(syslog),
#ifdef __x86_64__
    CALL(modify_ldt),
#endif
};

constexpr Call kIoUring[] = {
    CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register),
};

constexpr Call kKeyrings[] = {
    CALL(add_key), CALL(keyctl), CALL(request_key),
};

constexpr Call kMachine[] = {
    CALL(reboot),   CALL(swapon),      CALL(swapoff), CALL(acct),
    CALL(quotactl), CALL(quotactl_fd), CALL(vhangup),
#ifdef __x86_64__
    CALL(iopl),     CALL(ioperm),
#endif
};

constexpr Call kClocks[] = {
    CALL(settimeofday), CALL(clock_settime), CALL(clock_adjtime), CALL(adjtimex),
};

constexpr Call kHandles[] = {
    CALL(open_by_handle_at), CALL(fanotify_init), CALL(fanotify_mark),
};

constexpr Call kSteal[] = {
    CALL(pidfd_getfd), CALL(kcmp), CALL(process_madvise), CALL(process_mrelease),
};

constexpr Call kObsolete[] = {
    CALL(nfsservctl),
#ifdef __x86_64__
    CALL(uselib), CALL(_sysctl),
#endif
};

constexpr Call kUnreadable[] = {
    CALL(clone3),
};

#ifdef __x86_64__
constexpr Call kNeverBuilt[] = {
    CALL(ustat),         CALL(sysfs),          CALL(getpmsg),         CALL(putpmsg),
    CALL(afs_syscall),   CALL(tuxcall),        CALL(security),        CALL(vserver),
    CALL(epoll_ctl_old), CALL(epoll_wait_old), CALL(set_thread_area), CALL(get_thread_area),
};
#endif

constexpr Call kClone[] = {
    CALL(clone),
};

constexpr Call kUnshare[] = {
    CALL(unshare),
};

constexpr Call kIoctl[] = {
    CALL(ioctl),
};

constexpr Call kFcntl[] = {
    CALL(fcntl),
};

constexpr Call kSocket[] = {
    CALL(socket), CALL(socketpair),
};

constexpr Call kSendArg3[] = {
    CALL(sendto), CALL(sendmmsg),
};

constexpr Call kSendArg2[] = {
    CALL(sendmsg),
};

constexpr Call kPersonality[] = {
    CALL(personality),
};

constexpr Call kPtrace[] = {
    CALL(ptrace),
};

constexpr Call kMemfd[] = {
    CALL(memfd_create),
};

constexpr Call kAttributes[] = {
    CALL(fchmod), CALL(fchmodat), {"fchmodat2", 452}, CALL(fchown), CALL(fchownat), CALL(utimensat), CALL(truncate),
    CALL(setxattr), CALL(lsetxattr), CALL(fsetxattr), CALL(removexattr), CALL(lremovexattr), CALL(fremovexattr),
    {"setxattrat", 463}, {"removexattrat", 466}, {"file_setattr", 469},
#ifdef __x86_64__
    CALL(chmod), CALL(chown), CALL(lchown), CALL(utime), CALL(utimes), CALL(futimesat),
#endif
};

#undef CALL
// clang-format on

constexpr char kNoSetId[] = "no set-uid or set-gid file is left for somebody outside to run";
constexpr char kNotPidOne[] =
    "without privilege only downwards, and not of PID 1, whose guard it would put out";
constexpr char kOnlyMapped[] =
    "a file can be given to ids that the user namespace maps: EPERM for others, not EINVAL";

constexpr CallGroup kGroups[] = {
    {CallRule::kAllow, "files and directories; what may be opened is for the mounts and Landlock",
     kFiles},
    {CallRule::kPath, "the same by name: reported where the operator asked for a trace", kPaths},
    {CallRule::kChange, "reported where an overlay may not be able to copy up what they change too",
     kChanges},
    {CallRule::kHeldChange, "the same of an open file, whose copying up it may begin",
     kHeldChanges},
    {CallRule::kRename, "reported where an overlay moves no directory of the real tree too",
     kRenames},
    {CallRule::kCheckModeInArg1, kNoSetId, kDescriptorMode},
    {CallRule::kCheckPathModeInArg2, kNoSetId, kPathMode2},
    {CallRule::kCheckOpenModeInArg3, kNoSetId, kOpenMode3},
#ifdef __x86_64__
    {CallRule::kCheckPathModeInArg1, kNoSetId, kPathMode1},
    {CallRule::kCheckOpenModeInArg2, kNoSetId, kOpenMode2},
#endif
    {CallRule::kCheckOwnerInArg1, kOnlyMapped, kDescriptorOwner},
    {CallRule::kCheckPathOwnerInArg2, kOnlyMapped, kPathOwner2},
#ifdef __x86_64__
    {CallRule::kCheckPathOwnerInArg1, kOnlyMapped, kPathOwner1},
#endif
    {CallRule::kNestedPath, "its mode is behind a pointer: on ENOSYS programs fall back to openat",
     kUnreadablePath},
    {CallRule::kCheckExec, "reported where a program is masked, but for the command's own start",
     kExec},
    {CallRule::kExec, "reported where a program is masked", kExecAt},
    {CallRule::kAllow, "the process's own memory", kMemory},
    {CallRule::kAllow,
     "processes, threads and signals; a pid namespace or Landlock bounds whom they reach",
     kProcesses},
#ifdef __x86_64__
    {CallRule::kAllow,
     "the kernel's own trampolines for uprobes call these; elsewhere they only raise SIGILL",
     kProbes},
    {CallRule::kAbsent, "no kernel of today implements these, or nothing uses them", kNeverBuilt},
#endif
    {CallRule::kAllow, "asking about oneself and the system", kIdentity},
    {CallRule::kAllow, "clocks and timers: reading and waiting", kTime},
    {CallRule::kAllow, "waiting for descriptors", kEvents},
    {CallRule::kAllow, "sockets that exist: which may be made is checked in socket", kSockets},
    {CallRule::kMediated, "a path can lead to a socket of the host: looked at where it is made",
     kConnect},
    {CallRule::kAllow, "programs may sandbox themselves further", kSelfSandbox},
    {CallRule::kAllow,
     "changing ids, without privilege only to what one has: posix_spawn (make) resets them", kIds},
    {CallRule::kDefaultOnly, "dropping groups and capabilities, for programs that start as root",
     kPrivileges},
    {CallRule::kIpc, "System V IPC and POSIX message queues, bounded by the IPC namespace",
     kSysvIpc},
    {CallRule::kDefaultOnly, "kernel AIO: databases use it, and it has a history of bugs", kAio},
    {CallRule::kDefaultOnly, "NUMA policy of one's own memory", kNuma},
    {CallRule::kCheckLimitsInArg0, kNotPidOne, kLimits},
    {CallRule::kCheckAffinityInArg0, kNotPidOne, kAffinity},
    {CallRule::kCheckScheduleInArg0, kNotPidOne, kScheduling},
    {CallRule::kCheckPriorityInArg1, kNotPidOne, kPriority},
    {CallRule::kCheckIoPriorityInArg1, kNotPidOne, kIoPriority},
    {CallRule::kDefaultOnly,
     "mounts, handles and security attributes as /proc shows them; a handle alone opens nothing",
     kInspection},
    {CallRule::kRefuse, "memory that shows nowhere, so that nothing but a cgroup counts it",
     kSecretMemory},
    {CallRule::kCrossProcess, "reads, writes or moves another process's memory", kOtherProcesses},
    {CallRule::kNamespaces, "changes the mount tree or the root, old interface and new", kMounts},
    {CallRule::kNamespaces, "enters another namespace, or names this one", kNamespaceEntry},
    {CallRule::kRefuse, "loads code into the kernel or replaces it", kKernelCode},
    {CallRule::kRefuse, "large attack surface or a window into the kernel", kKernelWindows},
    {CallRule::kRefuse, "io_uring does what other calls do, past this filter", kIoUring},
    {CallRule::kRefuse,
     "keyrings have no namespace: keys of the caller's session would be in reach", kKeyrings},
    {CallRule::kRefuse, "the machine's state: power, swap, accounting, quotas, terminals, hardware",
     kMachine},
    {CallRule::kRefuse, "sets the machine's clock", kClocks},
    {CallRule::kRefuse, "opens files past every path: by handle, or by watching whole mounts",
     kHandles},
    {CallRule::kRefuse, "takes descriptors from, compares or disturbs other processes", kSteal},
    {CallRule::kRefuse, "obsolete doors that nothing needs", kObsolete},
    {CallRule::kAbsent,
     "its flags are behind a pointer: on ENOSYS the C library falls back to clone", kUnreadable},
    {CallRule::kCheckClone, "new processes, but no new namespaces", kClone},
    {CallRule::kCheckUnshare, "unsharing files, but no new namespaces", kUnshare},
    {CallRule::kCheckIoctl, "all but typing into a terminal (TIOCSTI, TIOCLINUX)", kIoctl},
    {CallRule::kCheckFcntl,
     "all but leases: a file that is only read would hold up its host's programs", kFcntl},
    {CallRule::kCheckSocket, "only the families, types and protocols of ordinary programs",
     kSocket},
    {CallRule::kCheckSendFlagsInArg3, "TCP fast open connects past Landlock", kSendArg3},
    {CallRule::kCheckSendFlagsInArg2, "TCP fast open connects past Landlock", kSendArg2},
    {CallRule::kCheckPersonality,
     "32-bit names, old version numbers and fixed addresses (debuggers) only", kPersonality},
    {CallRule::kCheckPtrace, "debugging one's own children", kPtrace},
    {CallRule::kCheckMemfd,
     "in strict mode, and with base tools, no memory file that could be executed", kMemfd},
};

}  // namespace

std::span<const CallGroup> call_groups() { return kGroups; }
std::span<const Call> attribute_calls() { return kAttributes; }

const Call* find_call(std::string_view name) {
  for (const CallGroup& group : kGroups) {
    for (const Call& call : group.calls) {
      if (call.name == name) return &call;
    }
  }
  return nullptr;
}

const Call* find_call(int number) {
  for (const CallGroup& group : kGroups) {
    for (const Call& call : group.calls) {
      if (call.number == number) return &call;
    }
  }
  return nullptr;
}

}  // namespace sbx
