// SPDX-License-Identifier: Apache-2.0
// Raw system calls that glibc lacks, wraps differently, or declares beside conflicting headers.
// Each returns -1 and sets errno, like libc. All are async-signal-safe and allocate nothing: the
// child uses them between clone and exec. Only system calls; no policy words.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "sys/kernel.h"

namespace sbx::sys {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
// Of the 4 or 16 bytes of an IP address, in the order of the network, and a port in the host's.
SocketAddress socket_address(bool is_v6, std::uint16_t port, const std::uint8_t* bytes) noexcept;

// clone3(2). Without CLONE_VM it returns twice, like fork; pthread_atfork handlers do not run, so
// between clone and exec the child keeps to async-signal-safe calls.
inline long clone3(CloneArgs& args) noexcept { return ::syscall(SYS_clone3, &args, sizeof(args)); }

// clone(2) with no new stack: what serves where a container's filter answers clone3 with ENOSYS.
// `flags` includes the exit signal in its low byte. `pidfd` is written with CLONE_PIDFD.
inline long clone_like_fork(unsigned long flags, int* pidfd) noexcept {
  // x86-64 and aarch64 differ only in the order of the two last arguments, both unused here.
  return ::syscall(SYS_clone, flags, nullptr, pidfd, nullptr, nullptr);
}

inline int pidfd_open(pid_t pid, unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, flags));
}
inline int pidfd_send_signal(int pidfd, int signal_number) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, signal_number, nullptr, 0));
}

// How often openat2(2) is asked again: where it may not lead out of a directory, a rename or a
// mount anywhere on the machine while ".." is walked makes it fail with EAGAIN.
inline constexpr int kMostOpenTries = 64;

// What openat2(2) would answer, one name after another: for where a filter hides that call
// (ENOSYS), as ours does from what runs inside. ENOSYS where that cannot be told so:
// kResolveNoSymlinks or nothing, with kResolveNoMagiclinks and kResolveBeneath, can; ".." is not
// walked (EXDEV).
int open_by_names(int dirfd, const char* path, const OpenHow& how) noexcept;

// openat2(2), asked again where it says so, unless only what is cached is wanted, and
// open_by_names() where it is not there. `how.mode` must be 0 unless O_CREAT or O_TMPFILE is in
// `how.flags`.
inline int openat2(int dirfd, const char* path, const OpenHow& how) noexcept {
  const int tries = (how.resolve & kResolveCached) != 0 ? 1 : kMostOpenTries;
  int fd = -1;
  for (int i = 0; i < tries && fd < 0 && (i == 0 || errno == EAGAIN); ++i) {
    fd = static_cast<int>(::syscall(SYS_openat2, dirfd, path, &how, sizeof(how)));
  }
  if (fd < 0 && errno == ENOSYS) return open_by_names(dirfd, path, how);
  return fd;
}

inline int open_tree(int dirfd, const char* path, unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_open_tree, dirfd, path, flags));
}
inline int move_mount(int from_fd, const char* from_path, int to_fd, const char* to_path,
                      unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_move_mount, from_fd, from_path, to_fd, to_path, flags));
}
inline int mount_setattr(int dirfd, const char* path, unsigned flags,
                         const MountAttr& attr) noexcept {
  return static_cast<int>(::syscall(SYS_mount_setattr, dirfd, path, flags, &attr, sizeof(attr)));
}
inline int pivot_root(const char* new_root, const char* put_old) noexcept {
  return static_cast<int>(::syscall(SYS_pivot_root, new_root, put_old));
}

// landlock_create_ruleset(2): a descriptor. An older kernel refuses set bits that it does not
// know (EINVAL) and non-zero fields that it does not know (E2BIG).
inline int landlock_create_ruleset(const LandlockRulesetAttr& attr) noexcept {
  return static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0));
}
// The ABI version, 1 and up; ENOSYS: not built in; EOPNOTSUPP: not enabled at boot.
inline int landlock_abi() noexcept {
  return static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kLandlockCreateRulesetVersion));
}
inline int landlock_add_path(int ruleset_fd, const LandlockPathBeneathAttr& attr) noexcept {
  return static_cast<int>(
      ::syscall(SYS_landlock_add_rule, ruleset_fd, kLandlockRulePathBeneath, &attr, 0));
}
inline int landlock_restrict_self(int ruleset_fd) noexcept {
  return static_cast<int>(::syscall(SYS_landlock_restrict_self, ruleset_fd, 0));
}

// seccomp(2). `args` is a sock_fprog for kSeccompSetModeFilter. With the flag for a listener the
// answer is its descriptor.
inline int seccomp(unsigned operation, unsigned flags, const void* args) noexcept {
  return static_cast<int>(::syscall(SYS_seccomp, operation, flags, args));
}

inline int close_range(unsigned first, unsigned last, unsigned flags) noexcept {
  return static_cast<int>(::syscall(SYS_close_range, first, last, flags));
}

// A system call that touches neither errno nor any other thread-local: for a process that shares
// its memory with one that goes on running. Returns the result or -errno.
inline long call_without_errno(long number, long a = 0, long b = 0, long c = 0, long d = 0,
                               long e = 0, long f = 0) noexcept {
#if defined(__x86_64__)
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#else
#error "system calls are known for x86_64 and aarch64"
#endif
}

// futex(2) on a word that only this memory has; without errno.
inline long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) noexcept {
  return call_without_errno(SYS_futex, reinterpret_cast<long>(&word), operation, value);
}

// The kernel's own answers: glibc caches none of these today, and after clone(2) none may be.
inline pid_t getpid_raw() noexcept { return static_cast<pid_t>(::syscall(SYS_getpid)); }

}  // namespace sbx::sys
