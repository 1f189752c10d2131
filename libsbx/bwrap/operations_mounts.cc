// SPDX-License-Identifier: Apache-2.0
// The operations on roots and mounts inside, executed: binds from the old root, new file systems,
// attributes. No heap, no exceptions.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "bwrap/inside.h"
#include "launch/descriptors.h"
#include "launch/mounts.h"
#include "sys/calls.h"

namespace sbx::bwrap {

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

namespace op {

int SlaveMounts::execute(ChildContext& /*context*/) const noexcept {
  return checked(::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr));
}

int PivotUnder::execute(ChildContext& context) const noexcept {
  if (sys::pivot_root(".", context.text(path)) != 0) return failure();
  return checked(::chdir("/"));
}

int Detach::execute(ChildContext& context) const noexcept {
  const char* const place = context.text(path);
  // Else the host would see it unmounted.
  if (::mount(nullptr, place, nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failure();
  return checked(::umount2(place, MNT_DETACH));
}

// It keeps its propagation: what the host mounts below it later shows inside too.
int BindTo::execute(ChildContext& context) const noexcept {
  // The planner resolved its symlinks; whoever puts one there since then is told so.
  const ScopedFd from{open_plain(context.text(source))};
  if (from.fd < 0) return failure();
  struct stat info {};
  if (::fstat(from.fd, &info) != 0) return failure();
  if (!is_file(info, file)) return ESTALE;
  const ScopedFd target{open_inside(context.text(path), O_PATH)};
  if (target.fd < 0) return failure();
  struct stat place {};
  if (::fstat(target.fd, &place) != 0) return failure();
  // move_mount(2) would say EINVAL, where mount(2) says ENOTDIR.
  if (S_ISDIR(info.st_mode) != S_ISDIR(place.st_mode)) return ENOTDIR;
  return attach_clone(from.fd, target.fd, attributes, 0);
}

int MountTo::execute(ChildContext& context) const noexcept {
  const ScopedFd target{open_inside(context.text(path), O_PATH)};
  if (target.fd < 0) return failure();
  const char* const name = file_system_name(type);
  return checked(::mount(name, FdPath(target.fd).text, name, flags, context.text(options)));
}

int SetInside::execute(ChildContext& context) const noexcept {
  const ScopedFd target{open_inside(context.text(path), O_PATH)};
  return target.fd < 0 ? failure() : add_attributes(target.fd, attributes);
}

int CoverProc::execute(ChildContext& context) const noexcept {
  const ScopedFd proc{open_inside(context.text(path), O_PATH)};
  if (proc.fd < 0) return failure();
  for (const char* name : {"sys", "sysrq-trigger", "irq", "bus"}) {
    if (::faccessat(proc.fd, name, W_OK, 0) != 0) {
      if (errno == EACCES || errno == ENOENT || errno == EROFS) continue;
      return failure();
    }
    const ScopedFd part{::openat(proc.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (part.fd < 0) return failure();
    const int error = attach_clone(part.fd, part.fd, attributes, 0);
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace op
}  // namespace sbx::bwrap
