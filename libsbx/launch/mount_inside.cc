// SPDX-License-Identifier: Apache-2.0
// Mounts onto paths inside the new root: binds from the old root, new file systems, attributes.
// No heap, no exceptions.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "launch/descriptors.h"
#include "launch/inside.h"
#include "sys/calls.h"

namespace sbx {
namespace {

// Clones the tree at `source`, sets the attributes of every mount in it while nobody can reach it,
// and attaches it. It keeps its propagation: what the host mounts below it later shows inside too.
int attach(int source, int target, std::uint64_t attributes) {
  const ScopedFd tree{sys::open_tree(
      source, "",
      sys::kOpenTreeClone | sys::kOpenTreeCloexec | sys::kAtEmptyPath | sys::kAtRecursive)};
  if (tree.fd < 0) return failure();
  const sys::MountAttr attr{attributes, 0, 0, 0};
  if (sys::mount_setattr(tree.fd, "", sys::kAtEmptyPath | sys::kAtRecursive, attr) != 0) {
    return failure();
  }
  return sys::move_mount(tree.fd, "", target, "",
                         sys::kMoveMountFEmptyPath | sys::kMoveMountTEmptyPath) == 0
             ? 0
             : failure();
}

const char* type_name(FileSystem type) {
  switch (type) {
    case FileSystem::kTmpfs:
      return "tmpfs";
    case FileSystem::kProc:
      return "proc";
    case FileSystem::kDevpts:
      return "devpts";
    case FileSystem::kMqueue:
      return "mqueue";
    case FileSystem::kOverlay:
      return "overlay";
  }
  return "";
}

}  // namespace

FdPath::FdPath(int fd) noexcept : text("/oldroot/proc/self/fd/") {
  char digits[12];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + fd % 10);
    fd /= 10;
  } while (fd > 0);
  char* out = text;
  while (*out != '\0') ++out;
  while (count > 0) *out++ = digits[--count];
  *out = '\0';
}

int bind_to(const ChildContext& context, const Op& op) noexcept {
  // The planner resolved its symlinks; whoever puts one there since then is told so.
  const sys::OpenHow how{O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
                         sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks};
  const ScopedFd from{sys::openat2(AT_FDCWD, context.arena + op.b, how)};
  if (from.fd < 0) return failure();
  struct stat source {};
  if (::fstat(from.fd, &source) != 0) return failure();
  if (op.ino != 0 && (source.st_ino != op.ino || source.st_dev != op.dev)) return ESTALE;
  const ScopedFd target{open_inside(context.arena + op.a, O_PATH)};
  if (target.fd < 0) return failure();
  struct stat place {};
  if (::fstat(target.fd, &place) != 0) return failure();
  // move_mount(2) would say EINVAL, where mount(2) says ENOTDIR.
  if (S_ISDIR(source.st_mode) != S_ISDIR(place.st_mode)) return ENOTDIR;
  return attach(from.fd, target.fd, op.flags);
}

int mount_to(const ChildContext& context, const Op& op) noexcept {
  const ScopedFd target{open_inside(context.arena + op.a, O_PATH)};
  if (target.fd < 0) return failure();
  const char* const type = type_name(static_cast<FileSystem>(op.slot));
  return ::mount(type, FdPath(target.fd).text, type, op.flags, context.arena + op.b) == 0
             ? 0
             : failure();
}

int set_inside(const char* path, std::uint64_t attributes) noexcept {
  const ScopedFd target{open_inside(path, O_PATH)};
  if (target.fd < 0) return failure();
  const sys::MountAttr attr{attributes, 0, 0, 0};
  return sys::mount_setattr(target.fd, "", sys::kAtEmptyPath, attr) == 0 ? 0 : failure();
}

int cover_proc(const char* path, std::uint64_t attributes) noexcept {
  const ScopedFd proc{open_inside(path, O_PATH)};
  if (proc.fd < 0) return failure();
  for (const char* name : {"sys", "sysrq-trigger", "irq", "bus"}) {
    if (::faccessat(proc.fd, name, W_OK, 0) != 0) {
      if (errno == EACCES || errno == ENOENT || errno == EROFS) continue;
      return failure();
    }
    const ScopedFd part{::openat(proc.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (part.fd < 0) return failure();
    const int error = attach(part.fd, part.fd, attributes);
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace sbx
