// SPDX-License-Identifier: Apache-2.0
// The operations of sbx-bwrap's plans, executed: paths below the new root while the old one is
// still at hand. A path inside is opened by descriptor, with its symlinks resolved as the command
// will see them, so nothing inside leads a write or a mount out of the new root. No heap, no
// exceptions.
#pragma once

#include <sys/types.h>

#include "launch/child.h"

namespace sbx {

// Where kPivotUnder leaves the old root; its /proc gives mount(2) paths for descriptors.
inline constexpr const char* kOldRoot = "/oldroot";

// Executes one of them; EINVAL for another. Returns 0 or an errno.
int run_inside_op(ChildContext& context, const Op& op) noexcept;

// --- its parts (mount_inside.cc, inside.cc) ---

// O_PATH and the like on a path inside, symlinks followed inside; -1 and errno.
int open_inside(const char* path, int flags, mode_t mode = 0) noexcept;

// "/oldroot/proc/self/fd/N".
struct FdPath {
  char text[48];
  explicit FdPath(int fd) noexcept;
};

int bind_to(const ChildContext& context, const Op& op) noexcept;
int mount_to(const ChildContext& context, const Op& op) noexcept;
int set_inside(const char* path, std::uint64_t attributes) noexcept;
int cover_proc(const char* path, std::uint64_t attributes) noexcept;

int bound_capabilities(std::uint64_t kept) noexcept;
int keep_capabilities(std::uint64_t kept, bool only_ambient) noexcept;

}  // namespace sbx
