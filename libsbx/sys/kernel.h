// SPDX-License-Identifier: Apache-2.0
// Kernel constants and structures that the headers of Linux 6.1 lack or that glibc's and the
// kernel's headers define twice (linux/mount.h against sys/mount.h). Plain data from the kernel's
// uapi; no policy words, no calls. Numbers and layouts are the same on x86-64 and aarch64.
#pragma once

#include <cstdint>

namespace sbx::sys {

// --- clone3 (linux/sched.h) ---
inline constexpr std::uint64_t kCloneIntoCgroup = 0x200000000;

struct CloneArgs {  // struct clone_args, the 88 bytes of 5.7
  std::uint64_t flags;
  std::uint64_t pidfd;  // address of an int
  std::uint64_t child_tid;
  std::uint64_t parent_tid;
  std::uint64_t exit_signal;
  std::uint64_t stack;
  std::uint64_t stack_size;
  std::uint64_t tls;
  std::uint64_t set_tid;
  std::uint64_t set_tid_size;
  std::uint64_t cgroup;  // descriptor of a cgroup v2 directory, with kCloneIntoCgroup
};
static_assert(sizeof(CloneArgs) == 88);

// --- openat2 (linux/openat2.h) ---
struct OpenHow {  // struct open_how
  std::uint64_t flags;
  std::uint64_t mode;
  std::uint64_t resolve;
};
static_assert(sizeof(OpenHow) == 24);
inline constexpr std::uint64_t kResolveNoMagiclinks = 0x02;
inline constexpr std::uint64_t kResolveNoSymlinks = 0x04;
inline constexpr std::uint64_t kResolveBeneath = 0x08;
inline constexpr std::uint64_t kResolveInRoot = 0x10;
inline constexpr std::uint64_t kResolveCached = 0x20;

// --- The mount API of 5.2 and mount_setattr of 5.12 (linux/mount.h) ---
inline constexpr unsigned kOpenTreeClone = 1;
inline constexpr unsigned kOpenTreeCloexec = 02000000;  // O_CLOEXEC
inline constexpr unsigned kAtRecursive = 0x8000;
inline constexpr unsigned kAtEmptyPath = 0x1000;
inline constexpr unsigned kAtSymlinkNofollow = 0x100;

inline constexpr unsigned kMoveMountFEmptyPath = 0x04;
inline constexpr unsigned kMoveMountTEmptyPath = 0x40;

inline constexpr std::uint64_t kMountAttrReadOnly = 0x01;
// statx(2): 6.8.
inline constexpr unsigned kStatxMntIdUnique = 0x4000;
inline constexpr std::uint64_t kMountAttrNosuid = 0x02;
inline constexpr std::uint64_t kMountAttrNodev = 0x04;
inline constexpr std::uint64_t kMountAttrNoexec = 0x08;
inline constexpr std::uint64_t kMountAttrIdmap = 0x100000;

struct MountAttr {  // struct mount_attr
  std::uint64_t attr_set;
  std::uint64_t attr_clr;
  std::uint64_t propagation;
  std::uint64_t userns_fd;
};
static_assert(sizeof(MountAttr) == 32);

// --- Landlock (linux/landlock.h up to ABI 11, Linux 7.3) ---
inline constexpr std::uint64_t kLandlockFsExecute = 1ULL << 0;
inline constexpr std::uint64_t kLandlockFsWriteFile = 1ULL << 1;
inline constexpr std::uint64_t kLandlockFsReadFile = 1ULL << 2;
inline constexpr std::uint64_t kLandlockFsReadDir = 1ULL << 3;
inline constexpr std::uint64_t kLandlockFsRemoveDir = 1ULL << 4;
inline constexpr std::uint64_t kLandlockFsRemoveFile = 1ULL << 5;
inline constexpr std::uint64_t kLandlockFsMakeDir = 1ULL << 7;
inline constexpr std::uint64_t kLandlockFsMakeReg = 1ULL << 8;
inline constexpr std::uint64_t kLandlockFsMakeSock = 1ULL << 9;
inline constexpr std::uint64_t kLandlockFsMakeFifo = 1ULL << 10;
inline constexpr std::uint64_t kLandlockFsMakeSym = 1ULL << 12;
inline constexpr std::uint64_t kLandlockFsRefer = 1ULL << 13;     // ABI 2
inline constexpr std::uint64_t kLandlockFsTruncate = 1ULL << 14;  // ABI 3
inline constexpr std::uint64_t kLandlockFsIoctlDev = 1ULL << 15;  // ABI 5
// ABI 9: sockets by path that were made outside of the domain.
inline constexpr std::uint64_t kLandlockFsResolveUnix = 1ULL << 16;

inline constexpr unsigned kLandlockCreateRulesetVersion = 1U << 0;

inline constexpr unsigned kLandlockRulePathBeneath = 1;

// Every file right that a given ABI knows; 0 for ABI 0.
constexpr std::uint64_t landlock_fs_rights(int abi) {
  if (abi <= 0) return 0;
  if (abi == 1) return (1ULL << 13) - 1;
  if (abi == 2) return (1ULL << 14) - 1;
  if (abi <= 4) return (1ULL << 15) - 1;
  return abi <= 8 ? (1ULL << 16) - 1 : (1ULL << 17) - 1;
}
// TCP from ABI 4, UDP from ABI 10.
constexpr std::uint64_t landlock_net_rights(int abi) { return abi >= 10 ? 15 : abi >= 4 ? 3 : 0; }
constexpr std::uint64_t landlock_scopes(int abi) { return abi >= 6 ? 3 : 0; }

// The size of the ruleset structure that an ABI accepts without zero-padding rules mattering.
struct LandlockRulesetAttr {  // struct landlock_ruleset_attr
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;  // ABI 4
  std::uint64_t scoped;              // ABI 6
};
static_assert(sizeof(LandlockRulesetAttr) == 24);

struct [[gnu::packed]] LandlockPathBeneathAttr {  // struct landlock_path_beneath_attr
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};
static_assert(sizeof(LandlockPathBeneathAttr) == 12);

// --- seccomp (linux/seccomp.h) ---
inline constexpr unsigned kSeccompSetModeFilter = 1;
inline constexpr unsigned kSeccompFilterFlagNewListener = 1U << 3;

inline constexpr std::uint32_t kSeccompRetAllow = 0x7fff0000U;

struct SeccompData {  // struct seccomp_data
  std::int32_t nr;
  std::uint32_t arch;
  std::uint64_t instruction_pointer;
  std::uint64_t args[6];
};
static_assert(sizeof(SeccompData) == 64);

struct SeccompNotif {  // struct seccomp_notif
  std::uint64_t id;
  std::uint32_t pid;
  std::uint32_t flags;
  SeccompData data;
};
static_assert(sizeof(SeccompNotif) == 80);

struct SeccompNotifAddFd {  // struct seccomp_notif_addfd
  std::uint64_t id;
  std::uint32_t flags;
  std::uint32_t source;
  std::uint32_t wanted;  // number; 0: any
  std::uint32_t new_flags;
};
struct SeccompNotifResponse {  // struct seccomp_notif_resp
  std::uint64_t id;
  std::int64_t val;
  std::int32_t error;
  std::uint32_t flags;
};
static_assert(sizeof(SeccompNotifResponse) == 24);

inline constexpr std::uint32_t kSeccompNotifFlagContinue = 1U << 0;
// _IOWR('!', N, …) and its like, spelled out: direction << 30 | size << 16 | '!' << 8 | N.
inline constexpr unsigned long kSeccompIoctlNotifRecv = 0xc0502100UL;
inline constexpr unsigned long kSeccompIoctlNotifSend = 0xc0182101UL;
inline constexpr unsigned long kSeccompIoctlNotifIdValid = 0x40082102UL;
inline constexpr unsigned long kSeccompIoctlNotifAddFd = 0x40182103UL;
inline constexpr unsigned long kSeccompIoctlNotifSetFlags = 0x40082104UL;  // 6.6
inline constexpr std::uint64_t kSeccompUserNotifFdSyncWakeUp = 1U << 0;    // 6.6

// --- Others ---
inline constexpr unsigned kCloseRangeUnshare = 1U << 1;
inline constexpr unsigned kCloseRangeCloexec = 1U << 2;
inline constexpr unsigned kMfdNoexecSeal = 0x0008;  // 6.3
inline constexpr unsigned kPidfdThread = 0200;  // O_EXCL, 6.9: the thread itself, not its leader
inline constexpr long kCgroup2SuperMagic = 0x63677270;

// System calls newer than libseccomp 2.5.4 or the headers know, by number (every architecture
// shares the numbers from 424 up).
inline constexpr int kNrFchmodat2 = 452;

}  // namespace sbx::sys
