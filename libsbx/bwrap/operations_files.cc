// SPDX-License-Identifier: Apache-2.0
// The operations on files inside, executed. No heap, no exceptions.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "bwrap/inside.h"
#include "launch/descriptors.h"
#include "launch/mounts.h"
#include "sys/calls.h"

namespace sbx::bwrap {
namespace {

int open_root() { return ::open(kNewRoot, O_PATH | O_DIRECTORY | O_CLOEXEC); }

int open_below(int root, const char* path, int flags, mode_t mode) {
  const std::uint64_t file_mode = (flags & O_CREAT) != 0 ? mode : 0;
  const sys::OpenHow how{static_cast<std::uint64_t>(flags | O_CLOEXEC), file_mode,
                         sys::kResolveInRoot | sys::kResolveNoMagiclinks};
  return sys::openat2(root, path, how);
}

// Path and last component, without trailing slashes; the component is empty for the root itself.
struct Parted {
  char parent[PATH_MAX];
  char name[NAME_MAX + 1];
};
int part(const char* path, Parted& out) {
  std::size_t end = std::strlen(path);
  while (end > 0 && path[end - 1] == '/') --end;
  std::size_t begin = end;
  while (begin > 0 && path[begin - 1] != '/') --begin;
  if (begin + 2 > sizeof out.parent || end - begin >= sizeof out.name) return ENAMETOOLONG;
  std::memcpy(out.parent, path, begin);
  out.parent[begin] = '\0';
  if (begin == 0) std::memcpy(out.parent, ".", 2);
  std::memcpy(out.name, path + begin, end - begin);
  out.name[end - begin] = '\0';
  return 0;
}

// The directory that holds the path's last component; its name goes into `parted`.
int open_parent(const char* path, Parted& parted) {
  const int error = part(path, parted);
  if (error != 0) {
    errno = error;
    return -1;
  }
  return open_inside(parted.parent, O_PATH | O_DIRECTORY);
}

// Makes what is missing on the way to `path`, which is cut at each component in turn.
int make_missing(int root, char* path, mode_t mode) {
  ScopedFd above{open_below(root, ".", O_PATH | O_DIRECTORY, 0)};
  if (above.fd < 0) return failure();
  for (std::size_t at = 0; path[at] != '\0';) {
    while (path[at] == '/') ++at;
    const std::size_t begin = at;
    while (path[at] != '\0' && path[at] != '/') ++at;
    if (at == begin) break;
    const char after = path[at];
    path[at] = '\0';
    int next = open_below(root, path, O_PATH | O_DIRECTORY, 0);
    if (next < 0 && errno == ENOENT) {
      if (::mkdirat(above.fd, path + begin, mode) != 0) return failure();
      next = open_below(root, path, O_PATH | O_DIRECTORY, 0);
    }
    if (next < 0) return failure();
    ::close(above.fd);
    above.fd = next;
    path[at] = after;
  }
  return 0;
}

int keep_data(ChildContext& context, int fd) {
  kept_of(context).data_fd = fd;
  return fd < 0 ? failure() : 0;
}

}  // namespace

int open_inside(const char* path, int flags, mode_t mode) noexcept {
  // Opened anew each time: a mount on the root itself is then what is seen.
  const ScopedFd root{open_root()};
  return root.fd < 0 ? -1 : open_below(root.fd, path, flags, mode);
}

namespace op {

int MakeParents::execute(ChildContext& context) const noexcept {
  Parted parted;
  const int error = part(context.text(path), parted);
  if (error != 0) return error;
  const ScopedFd root{open_root()};
  if (root.fd < 0) return failure();
  // Nearly always they are there.
  const ScopedFd whole{open_below(root.fd, parted.parent, O_PATH | O_DIRECTORY, 0)};
  if (whole.fd >= 0) return 0;
  return errno == ENOENT ? make_missing(root.fd, parted.parent, mode) : failure();
}

int NeedDir::execute(ChildContext& context) const noexcept {
  const ScopedFd there{open_inside(context.text(path), O_PATH | O_DIRECTORY)};
  if (there.fd >= 0) return 0;
  if (errno != ENOENT) return failure();
  Parted parted;
  const ScopedFd parent{open_parent(context.text(path), parted)};
  return parent.fd < 0 ? failure() : checked(::mkdirat(parent.fd, parted.name, mode));
}

int NeedFile::execute(ChildContext& context) const noexcept {
  const ScopedFd there{open_inside(context.text(path), O_PATH)};
  struct stat info {};
  if (there.fd >= 0 && ::fstat(there.fd, &info) == 0) return S_ISDIR(info.st_mode) ? EISDIR : 0;
  if (errno != ENOENT) return failure();
  Parted parted;
  const ScopedFd parent{open_parent(context.text(path), parted)};
  if (parent.fd < 0) return failure();
  // Never through a symlink that leads to nothing: O_EXCL refuses it.
  const ScopedFd made{
      ::openat(parent.fd, parted.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
  return made.fd < 0 ? failure() : 0;
}

// Where one exists that leads elsewhere, the errors tell it from one that is no link (EINVAL).
int LinkInside::execute(ChildContext& context) const noexcept {
  const char* const wanted = context.text(target);
  Parted parted;
  const ScopedFd parent{open_parent(context.text(path), parted)};
  if (parent.fd < 0) return failure();
  if (::symlinkat(wanted, parent.fd, parted.name) == 0) return 0;
  if (errno != EEXIST) return failure();
  char* const detail = context.state->detail;
  const ssize_t size =
      ::readlinkat(parent.fd, parted.name, detail, sizeof context.state->detail - 1);
  if (size < 0) {
    std::memcpy(detail, "?", 2);
    return failure();
  }
  detail[size] = '\0';
  return std::strcmp(detail, wanted) == 0 ? 0 : EEXIST;
}

int ChmodInside::execute(ChildContext& context) const noexcept {
  const ScopedFd target{open_inside(context.text(path), O_PATH)};
  return target.fd < 0 ? failure() : checked(::chmod(FdPath(target.fd).text, mode));
}

int OpenInside::execute(ChildContext& context) const noexcept {
  return keep_data(context, open_inside(context.text(path), O_WRONLY | O_CREAT | O_TRUNC, mode));
}

int OpenOutside::execute(ChildContext& context) const noexcept {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  return keep_data(context, ::open(context.text(path), kFlags, mode));
}

int CopyData::execute(ChildContext& context) const noexcept {
  const ScopedFd to{kept_of(context).data_fd};
  kept_of(context).data_fd = -1;
  char buffer[8192];
  for (;;) {
    const ssize_t size = ::read(fd, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failure();
    if (size == 0) break;
    for (ssize_t done = 0; done < size;) {
      const ssize_t written = ::write(to.fd, buffer + done, static_cast<std::size_t>(size - done));
      if (written < 0 && errno != EINTR) return failure();
      if (written > 0) done += written;
    }
  }
  ::close(fd);
  return 0;
}

int Unlink::execute(ChildContext& context) const noexcept {
  return checked(::unlink(context.text(path)));
}

int LockFile::execute(ChildContext& context) const noexcept {
  Kept& kept = kept_of(context);
  if (kept.lock_count == kMaxLocks) return E2BIG;
  const int fd = ::open(context.text(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure();
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  kept.locks[kept.lock_count++] = fd;
  return ::fcntl(fd, F_SETLK, &lock) == 0 ? 0 : failure();
}

int TryDir::execute(ChildContext& context) const noexcept {
  bool& found = kept_of(context).found_dir;
  if (found || ::chdir(context.text(path)) != 0) return 0;
  found = true;
  context.envp[place] = const_cast<char*>(context.text(entry));
  return 0;
}

}  // namespace op
}  // namespace sbx::bwrap
