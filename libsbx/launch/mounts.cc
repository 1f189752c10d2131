// SPDX-License-Identifier: Apache-2.0
// Mounts and files by descriptor, as several steps need them. No heap, no exceptions.
#include "launch/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "launch/descriptors.h"
#include "sys/calls.h"

namespace sbx {

int checked(int result) noexcept { return result == 0 ? 0 : failure(); }

int open_plain(const char* path) noexcept {
  const sys::OpenHow how{O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
                         sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks};
  return sys::openat2(AT_FDCWD, path, how);
}

bool is_file(const struct stat& info, const op::FileId& file) noexcept {
  return file.ino == 0 || (info.st_ino == file.ino && info.st_dev == file.dev);
}

int expect_file(int fd, const op::FileId& file) noexcept {
  if (file.ino == 0) return 0;
  struct stat info;
  if (::fstat(fd, &info) != 0) return failure();
  return is_file(info, file) ? 0 : ESTALE;
}

int attach_clone(int source, int target, std::uint64_t attributes, std::uint64_t propagation,
                 Submounts submounts) noexcept {
  const unsigned below = submounts == Submounts::kWith ? sys::kAtRecursive : 0;
  const ScopedFd clone{sys::open_tree(
      source, "", sys::kOpenTreeClone | sys::kOpenTreeCloexec | sys::kAtEmptyPath | below)};
  if (clone.fd < 0) return failure();
  const sys::MountAttr attr{attributes, 0, propagation, 0};
  if (sys::mount_setattr(clone.fd, "", sys::kAtEmptyPath | sys::kAtRecursive, attr) != 0) {
    return failure();
  }
  return checked(sys::move_mount(clone.fd, "", target, "",
                                 sys::kMoveMountFEmptyPath | sys::kMoveMountTEmptyPath));
}

int add_attributes(int fd, std::uint64_t attributes) noexcept {
  const sys::MountAttr attr{attributes, 0, 0, 0};
  return checked(sys::mount_setattr(fd, "", sys::kAtEmptyPath, attr));
}

int write_whole(int fd, const char* text, std::uint32_t size, int error_if_short) noexcept {
  if (fd < 0) return failure();
  const ssize_t written = ::write(fd, text, size);
  if (written < 0) return failure();
  return static_cast<std::uint32_t>(written) == size ? 0 : error_if_short;
}

}  // namespace sbx
