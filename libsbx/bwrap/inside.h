// SPDX-License-Identifier: Apache-2.0
// What bubblewrap's operations share in the child. No heap, no exceptions.
#pragma once

#include <sys/types.h>

#include "bwrap/operations.h"
#include "launch/child.h"

namespace sbx::bwrap {

inline constexpr int kMaxLocks = 256;

// What one operation leaves for a later one, and for PID 1.
struct Kept {
  int launcher[2] = {-1, -1};  // a pipe that nobody writes to: it ends with the launcher
  int sync_fd = -1;            // open as long as PID 1 lives
  int proc_fd = -1;
  int data_fd = -1;
  bool found_dir = false;
  int locks[kMaxLocks] = {};
  int lock_count = 0;
};
inline Kept& kept_of(ChildContext& context) { return *static_cast<Kept*>(context.own); }

// O_PATH and the like on a path inside, symlinks followed inside; -1 and errno.
int open_inside(const char* path, int flags, mode_t mode = 0) noexcept;

// "/oldroot/proc/self/fd/N".
struct FdPath {
  char text[48];
  explicit FdPath(int fd) noexcept;
};

// The sets that stay, the ambient one too; or that alone. Returns 0 or an errno.
int keep_capabilities(std::uint64_t kept, bool only_ambient) noexcept;

// PID 1: stays until nothing is left inside. Never returns.
void run_reaper(ChildContext& context, pid_t command) noexcept;

}  // namespace sbx::bwrap
