// SPDX-License-Identifier: Apache-2.0
// The order: a namespace whose root is empty, no file by Landlock, no capability, then the filter.
#include "jail/jail.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "base/files.h"

namespace sbx {
namespace {

Error failed(const char* call) { return call_failed(ErrorCode::kSetupFailed, call, call); }

// A user namespace first, which root needs as well where it lacks the capability.
bool unshare_all() {
  constexpr int kAll = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWUSER | kAll) != 0) return unshare(kAll) == 0;
  write_at_once("/proc/self/setgroups", "deny");
  write_at_once("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
  write_at_once("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  return true;
}

// The root becomes an empty directory that nothing can be written to.
bool empty_root() {
  if (!unshare_all()) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  if (mount("none", "/tmp", "tmpfs", kFlags, "size=4k,mode=0500") != 0) return false;
  if (chdir("/tmp") != 0 || syscall(SYS_pivot_root, ".", ".") != 0) return false;
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) return false;
  return mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | kFlags, nullptr) == 0;
}

// Every right that the kernel knows, and no rule: nothing is left.
bool close_files() {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U /* VERSION */);
  if (abi < 1) return false;
  struct {
    std::uint64_t files;
    std::uint64_t ports;
  } rights = {(1ULL << 13) - 1, 0};
  if (abi >= 2) rights.files |= 1ULL << 13;
  if (abi >= 3) rights.files |= 1ULL << 14;
  if (abi >= 5) rights.files |= 1ULL << 15;
  if (abi >= 4) rights.ports = 3;
  const auto size = abi >= 4 ? sizeof rights : sizeof rights.files;
  const long ruleset = syscall(SYS_landlock_create_ruleset, &rights, size, 0U);
  if (ruleset < 0) return false;
  const bool is_closed = syscall(SYS_landlock_restrict_self, ruleset, 0U) == 0;
  close(static_cast<int>(ruleset));
  return is_closed;
}

Status drop_capabilities() {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (syscall(SYS_capset, &header, none.data()) != 0) return failed("capset");
  return {};
}

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// Memory that is code is not to be had: mmap and mprotect are let through without PROT_EXEC. Of a
// socket's options the one is that makes its end a reset.
Status install_filter(std::span<const int> calls) {
  std::vector<sock_filter> code;
  const auto load = [&](std::size_t offset) {
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
  };
  const auto answer = [&](unsigned what) { code.push_back(BPF_STMT(BPF_RET | BPF_K, what)); };
  load(offsetof(seccomp_data, arch));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  answer(SECCOMP_RET_KILL_PROCESS);
  load(offsetof(seccomp_data, nr));
  for (const int call : calls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    answer(SECCOMP_RET_ALLOW);
  }
  constexpr unsigned kThirdArgument = offsetof(seccomp_data, args) + 2 * sizeof(std::uint64_t);
  constexpr unsigned kProtExec = 4;
  for (const int call : {SYS_mmap, SYS_mprotect}) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 4));
    load(kThirdArgument);
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kProtExec, 1, 0));
    answer(SECCOMP_RET_ALLOW);
    answer(SECCOMP_RET_ERRNO | EPERM);
  }
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 5));
  load(kThirdArgument - sizeof(std::uint64_t));
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOL_SOCKET, 0, 3));
  load(kThirdArgument);
  code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_LINGER, 0, 1));
  answer(SECCOMP_RET_ALLOW);
  answer(SECCOMP_RET_ERRNO | EPERM);
  sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return failed("prctl");
  return {};
}

}  // namespace

Status close_off(pid_t parent) {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0) return failed("setrlimit");
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return failed("prctl");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return failed("prctl");
  if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return failed("prctl");
  if (parent > 0 && getppid() != parent) _exit(0);
  return {};
}

Status enter_jail(std::span<const int> calls) {
  // In a namespace of its own it maps itself, which one that is not dumpable may not.
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  const bool has_root = empty_root();
  const int error = errno;
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (!close_files() && !has_root) {
    errno = error;
    return failed("neither a mount namespace nor Landlock: unshare");
  }
  SBX_CHECK_OK(drop_capabilities());
  // Changing namespaces has cleared it in some kernels.
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  return install_filter(calls);
}

}  // namespace sbx
