// SPDX-License-Identifier: Apache-2.0
// The steps that make files and mounts, executed. No heap, no exceptions.
#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "launch/child.h"
#include "launch/descriptors.h"
#include "launch/mounts.h"
#include "sys/calls.h"

namespace sbx::op {
namespace {

int open_and_write(const char* path, const char* text, std::uint32_t size) {
  const ScopedFd file{::open(path, O_WRONLY | O_CLOEXEC)};
  return write_whole(file.fd, text, size, EIO);
}

// NUL-terminated.
void write_number(std::uint64_t number, char (&out)[24]) {
  char* const end = std::to_chars(out, out + sizeof out - 1, number).ptr;
  *end = '\0';
}

// The tree leaves the host's propagation.
int attach_at(int source, const char* destination, std::uint64_t attributes) {
  const ScopedFd target{open_plain(destination)};
  return target.fd < 0 ? failure() : attach_clone(source, target.fd, attributes, MS_PRIVATE);
}

}  // namespace

int WriteFile::execute(ChildContext& context) const noexcept {
  return open_and_write(context.text(path), context.text(content.text), content.size);
}

int PrivateMounts::execute(ChildContext& /*context*/) const noexcept {
  return checked(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
}

int Mount::execute(ChildContext& context) const noexcept {
  const char* const name = file_system_name(type);
  const char* const data = context.text(options);
  const int error =
      checked(::mount(name, context.text(path), name, flags, *data == '\0' ? nullptr : data));
  return error == ENODEV && type == FileSystem::kMqueue ? 0 : error;
}

int EnterRoot::execute(ChildContext& context) const noexcept {
  return checked(::chdir(context.text(path)));
}

int MakeDir::execute(ChildContext& context) const noexcept {
  return checked(::mkdir(context.text(path), mode));
}

int MakeFile::execute(ChildContext& context) const noexcept {
  const char* const name = context.text(path);
  if (content.size == 0) return checked(::mknod(name, S_IFREG | mode, 0));
  const ScopedFd file{::open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
  return write_whole(file.fd, context.text(content.text), content.size, ENOSPC);
}

int MakeLink::execute(ChildContext& context) const noexcept {
  return checked(::symlink(context.text(target), context.text(path)));
}

int BindSystem::execute(ChildContext& context) const noexcept {
  const char* const destination = context.text(path);
  if (::mount(context.text(source), destination, nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return failure();
  }
  const sys::MountAttr attr{attributes, 0, MS_PRIVATE, 0};
  return checked(
      sys::mount_setattr(AT_FDCWD, destination, sys::kAtRecursive | sys::kAtSymlinkNofollow, attr));
}

int AttachMapped::execute(ChildContext& context) const noexcept {
  const ScopedFd from{context.trees[tree]};
  const ScopedFd target{open_plain(context.text(path))};
  if (target.fd < 0) return failure();
  return checked(sys::move_mount(from.fd, "", target.fd, "",
                                 sys::kMoveMountFEmptyPath | sys::kMoveMountTEmptyPath));
}

// A clone has the attributes of what it was cloned from. mount(2) would follow a symlink;
// move_mount(2) does not.
int BindMask::execute(ChildContext& context) const noexcept {
  const char* const from = context.text(mask);
  const char* const destination = context.text(path);
  if (!is_link) return checked(::mount(from, destination, nullptr, MS_BIND, nullptr));
  const ScopedFd tree{sys::open_tree(AT_FDCWD, from, sys::kOpenTreeClone | sys::kOpenTreeCloexec)};
  if (tree.fd < 0) return failure();
  return checked(sys::move_mount(tree.fd, "", AT_FDCWD, destination, sys::kMoveMountFEmptyPath));
}

int Bind::execute(ChildContext& context) const noexcept {
  const ScopedFd from{open_plain(context.text(source))};
  if (from.fd < 0) return failure();
  const int error = expect_file(from.fd, file);
  return error != 0 ? error : attach_at(from.fd, context.text(path), attributes);
}

int BindInside::execute(ChildContext& context) const noexcept {
  const ScopedFd from{open_plain(context.text(source))};
  return from.fd < 0 ? failure() : attach_at(from.fd, context.text(path), attributes);
}

int MoveInside::execute(ChildContext& context) const noexcept {
  const ScopedFd from{open_plain(context.text(source))};
  if (from.fd < 0) return failure();
  const int error = add_attributes(from.fd, attributes);
  if (error != 0) return error;
  const ScopedFd target{open_plain(context.text(path))};
  if (target.fd < 0) return failure();
  return checked(sys::move_mount(from.fd, "", target.fd, "",
                                 sys::kMoveMountFEmptyPath | sys::kMoveMountTEmptyPath));
}

int SetAttributes::execute(ChildContext& context) const noexcept {
  const ScopedFd target{open_plain(context.text(path))};
  return target.fd < 0 ? failure() : add_attributes(target.fd, attributes);
}

int ReportFd::execute(ChildContext& context) const noexcept {
  const int fd = ::open(context.text(path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const int error = report_fd(context, tag, fd);
  if (error != 0 || tag != ReportTag::kProc) return error;
  // What it lists belongs to the IPC namespace of whoever opens it. Kernels may lack it.
  const int segments = ::openat(fd, "sysvipc/shm", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  return segments < 0 ? 0 : report_fd(context, ReportTag::kSharedMemory, segments);
}

// tmpfs(5): a size of 0 would be none.
int SizeTmpfs::execute(ChildContext& context) const noexcept {
  const char* const place = context.text(path);
  struct statfs info {};
  if (::statfs(place, &info) != 0) return failure();
  const auto block = static_cast<std::uint64_t>(info.f_bsize);
  const std::uint64_t size = (info.f_blocks - info.f_bfree) * block + free_bytes;
  char options[32] = "size=";
  char number[24];
  write_number(size == 0 ? block : size, number);
  std::memcpy(options + 5, number, sizeof number);
  return checked(::mount(nullptr, place, nullptr, MS_REMOUNT | flags, options));
}

int Halve::execute(ChildContext& context) const noexcept {
  const ScopedFd from{::open(context.text(machine), O_RDONLY | O_CLOEXEC)};
  if (from.fd < 0) return errno == ENOENT ? 0 : failure();
  char text[24] = {};
  const ssize_t size = ::read(from.fd, text, sizeof text - 1);
  if (size < 0) return failure();
  std::uint64_t number = 0;
  if (std::from_chars(text, text + size, number).ec != std::errc{}) return EINVAL;
  write_number(number / 2, text);
  const int error =
      open_and_write(context.text(path), text, static_cast<std::uint32_t>(std::strlen(text)));
  return error == ENOENT ? 0 : error;
}

int Pivot::execute(ChildContext& /*context*/) const noexcept {
  // pivot_root(2), NOTES: with both arguments ".", the old root ends up on top of the new one.
  if (sys::pivot_root(".", ".") != 0) return failure();
  if (::umount2(".", MNT_DETACH) != 0) return failure();
  return checked(::chdir("/"));
}

}  // namespace sbx::op
