// SPDX-License-Identifier: Apache-2.0
// What several steps do with files and mounts in the child, by descriptor. No heap, no exceptions.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "plan/operations.h"

namespace sbx {

// 0 or an errno, of a call that returns 0 or sets errno.
int checked(int result) noexcept;

// O_PATH without symlinks anywhere, one at the end opened as such: what lies in a bound directory
// is not trusted. -1 and errno.
int open_plain(const char* path) noexcept;

// Whether it is the file that was looked at; ESTALE where the descriptor's is not.
bool is_file(const struct stat& info, const op::FileId& file) noexcept;
int expect_file(int fd, const op::FileId& file) noexcept;

// Clones the tree at `source`, with what is mounted below it or without, gives every mount in it
// the attributes and the propagation (MS_PRIVATE; 0: as it is) while nobody can reach it, and
// attaches it at `target`.
enum class Submounts : std::uint8_t { kWith, kWithout };
int attach_clone(int source, int target, std::uint64_t attributes, std::uint64_t propagation,
                 Submounts submounts = Submounts::kWith) noexcept;

// Adds attributes to the mount at the descriptor, not to those below it.
int add_attributes(int fd, std::uint64_t attributes) noexcept;

// One write of all of it. `fd` of -1: the errno of the open.
int write_whole(int fd, const char* text, std::uint32_t size, int error_if_short) noexcept;

}  // namespace sbx
