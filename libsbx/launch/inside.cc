// SPDX-License-Identifier: Apache-2.0
// One switch over the operations of sbx-bwrap's plans, and the file operations among them. No heap,
// no exceptions.
#include "launch/inside.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "launch/descriptors.h"
#include "sys/calls.h"

namespace sbx {
namespace {

int checked(int result) { return result == 0 ? 0 : failure(); }

int open_root() { return ::open(kNewRoot, O_PATH | O_DIRECTORY | O_CLOEXEC); }

int open_below(int root, const char* path, int flags, mode_t mode) {
  const std::uint64_t file_mode = (flags & O_CREAT) != 0 ? mode : 0;
  const sys::OpenHow how{static_cast<std::uint64_t>(flags | O_CLOEXEC), file_mode,
                         sys::kResolveInRoot | sys::kResolveNoMagiclinks};
  // EAGAIN: something was renamed on the way while ".." was walked; openat2(2) says to try again.
  for (int tries = 0; tries < 64; ++tries) {
    const int fd = sys::openat2(root, path, how);
    if (fd >= 0 || errno != EAGAIN) return fd;
  }
  return -1;
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

int make_parents(const char* path, mode_t mode) {
  Parted parted;
  const int error = part(path, parted);
  if (error != 0) return error;
  const ScopedFd root{open_root()};
  if (root.fd < 0) return failure();
  // Nearly always they are there.
  const ScopedFd whole{open_below(root.fd, parted.parent, O_PATH | O_DIRECTORY, 0)};
  if (whole.fd >= 0) return 0;
  if (errno != ENOENT) return failure();
  ScopedFd above{open_below(root.fd, ".", O_PATH | O_DIRECTORY, 0)};
  if (above.fd < 0) return failure();
  char* const text = parted.parent;
  for (std::size_t at = 0; text[at] != '\0';) {
    while (text[at] == '/') ++at;
    const std::size_t begin = at;
    while (text[at] != '\0' && text[at] != '/') ++at;
    if (at == begin) break;
    const char after = text[at];
    text[at] = '\0';
    int next = open_below(root.fd, text, O_PATH | O_DIRECTORY, 0);
    if (next < 0 && errno == ENOENT) {
      if (::mkdirat(above.fd, text + begin, mode) != 0) return failure();
      next = open_below(root.fd, text, O_PATH | O_DIRECTORY, 0);
    }
    if (next < 0) return failure();
    ::close(above.fd);
    above.fd = next;
    text[at] = after;
  }
  return 0;
}

int need_dir(const char* path, mode_t mode) {
  const ScopedFd there{open_inside(path, O_PATH | O_DIRECTORY)};
  if (there.fd >= 0) return 0;
  if (errno != ENOENT) return failure();
  Parted parted;
  const ScopedFd parent{open_parent(path, parted)};
  return parent.fd < 0 ? failure() : checked(::mkdirat(parent.fd, parted.name, mode));
}

int need_file(const char* path, mode_t mode) {
  const ScopedFd there{open_inside(path, O_PATH)};
  struct stat info {};
  if (there.fd >= 0 && ::fstat(there.fd, &info) == 0) return S_ISDIR(info.st_mode) ? EISDIR : 0;
  if (errno != ENOENT) return failure();
  Parted parted;
  const ScopedFd parent{open_parent(path, parted)};
  if (parent.fd < 0) return failure();
  // Never through a symlink that leads to nothing: O_EXCL refuses it.
  const ScopedFd made{
      ::openat(parent.fd, parted.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
  return made.fd < 0 ? failure() : 0;
}

// Where one exists that leads elsewhere, the errors tell it from one that is no link (EINVAL).
int link_inside(ChildContext& context, const char* path, const char* target) {
  Parted parted;
  const ScopedFd parent{open_parent(path, parted)};
  if (parent.fd < 0) return failure();
  if (::symlinkat(target, parent.fd, parted.name) == 0) return 0;
  if (errno != EEXIST) return failure();
  char* const detail = context.state->detail;
  const ssize_t size =
      ::readlinkat(parent.fd, parted.name, detail, sizeof context.state->detail - 1);
  if (size < 0) {
    std::memcpy(detail, "?", 2);
    return failure();
  }
  detail[size] = '\0';
  return std::strcmp(detail, target) == 0 ? 0 : EEXIST;
}

int chmod_inside(const char* path, mode_t mode) {
  const ScopedFd target{open_inside(path, O_PATH)};
  return target.fd < 0 ? failure() : checked(::chmod(FdPath(target.fd).text, mode));
}

int copy_data(ChildContext& context, int source) {
  const ScopedFd to{context.data_fd};
  context.data_fd = -1;
  char buffer[8192];
  for (;;) {
    const ssize_t size = ::read(source, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failure();
    if (size == 0) break;
    for (ssize_t done = 0; done < size;) {
      const ssize_t written = ::write(to.fd, buffer + done, static_cast<std::size_t>(size - done));
      if (written < 0 && errno != EINTR) return failure();
      if (written > 0) done += written;
    }
  }
  ::close(source);
  return 0;
}

int open_data(ChildContext& context, int fd) {
  context.data_fd = fd;
  return fd < 0 ? failure() : 0;
}

int await_go(int control) {
  char byte = 0;
  for (;;) {
    const ssize_t size = ::recv(control, &byte, 1, 0);
    if (size == 1) return 0;
    if (size == 0) ::_exit(1);  // nobody wants it any more
    if (errno == EAGAIN) {
      struct pollfd waiting {
        control, POLLIN, 0
      };
      ::poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      return failure();
    }
  }
}

int await_fd(int fd) {
  char byte = 0;
  while (::read(fd, &byte, 1) < 0 && errno == EINTR) {
  }
  ::close(fd);
  return 0;  // bubblewrap goes on whatever the answer
}

int write_proc(const ChildContext& context, const char* path, const char* text,
               std::uint32_t size) {
  const ScopedFd file{::openat(context.proc_fd, path, O_WRONLY | O_CLOEXEC)};
  if (file.fd < 0) return failure();
  const ssize_t written = ::write(file.fd, text, size);
  if (written < 0) return failure();
  return static_cast<std::uint32_t>(written) == size ? 0 : EIO;
}

int set_ids(const Op& op) {
  const auto gid = static_cast<gid_t>(op.ino);
  const auto uid = static_cast<uid_t>(op.dev);
  if (::getgid() != gid && ::setgid(gid) != 0) return failure();
  return ::getuid() == uid ? 0 : checked(::setuid(uid));
}

int pivot_under(const char* old_root) {
  if (sys::pivot_root(".", old_root) != 0) return failure();
  return checked(::chdir("/"));
}

int detach(const char* path) {
  // Else the host would see it unmounted.
  if (::mount(nullptr, path, nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return failure();
  return checked(::umount2(path, MNT_DETACH));
}

int lock_file(ChildContext& context, const char* path) {
  if (context.lock_count == kMaxLocks) return E2BIG;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure();
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  context.locks[context.lock_count++] = fd;
  return ::fcntl(fd, F_SETLK, &lock) == 0 ? 0 : failure();
}

int try_dir(ChildContext& context, const Op& op) {
  if (context.found_dir || ::chdir(context.arena + op.a) != 0) return 0;
  context.found_dir = true;
  context.envp[op.slot] = const_cast<char*>(context.arena + op.b);
  return 0;
}

int load_program(const ChildContext& context, const Op& op) {
  struct sock_fprog program {
    static_cast<unsigned short>(op.ino), const_cast<sock_filter*>(context.filter + op.dev)
  };
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : failure();
}

}  // namespace

int open_inside(const char* path, int flags, mode_t mode) noexcept {
  // Opened anew each time: a mount on the root itself is then what is seen.
  const ScopedFd root{open_root()};
  return root.fd < 0 ? -1 : open_below(root.fd, path, flags, mode);
}

int bound_capabilities(std::uint64_t kept) noexcept {
  for (int cap = 0; cap < 64; ++cap) {
    if ((kept >> cap & 1) != 0 || ::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0) continue;
    // Unknown ones, and where it may not: no_new_privs is in force.
    if (errno != EINVAL && errno != EPERM) return failure();
  }
  return 0;
}

int keep_capabilities(std::uint64_t kept, bool only_ambient) noexcept {
  if (!only_ambient) {
    struct __user_cap_header_struct header {
      _LINUX_CAPABILITY_VERSION_3, 0
    };
    struct __user_cap_data_struct data[2] = {};
    for (int half = 0; half < 2; ++half) {
      const auto bits = static_cast<std::uint32_t>(kept >> (32 * half));
      data[half] = {bits, bits, bits};
    }
    // A container's filter may refuse capset to root, who has what is kept.
    if (::syscall(SYS_capset, &header, data) != 0 && !(errno == EPERM && ::getuid() == 0)) {
      return failure();
    }
  }
  for (int cap = 0; cap < 64; ++cap) {
    if ((kept >> cap & 1) == 0) continue;
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) == 0) continue;
    if (errno != EINVAL && errno != EPERM) return failure();
  }
  return 0;
}

int run_inside_op(ChildContext& context, const Op& op) noexcept {
  const char* const a = context.arena + op.a;
  const char* const b = context.arena + op.b;
  const auto mode = static_cast<mode_t>(op.flags);
  switch (op.kind) {
    case OpKind::kAwaitGo:
      return await_go(context.control);
    case OpKind::kAwaitFd:
      return await_fd(op.slot);
    case OpKind::kOpenProc:
      context.proc_fd = ::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
      return context.proc_fd >= 0 ? 0 : failure();
    case OpKind::kWriteProc:
      return write_proc(context, a, b, op.b_size);
    case OpKind::kSetIds:
      return set_ids(op);
    case OpKind::kJoinUser:
      return checked(::setns(op.slot, CLONE_NEWUSER));
    case OpKind::kUnshareUser:
      return checked(::unshare(CLONE_NEWUSER));
    case OpKind::kRefuseUser:
      return ::unshare(CLONE_NEWUSER) == 0 ? EEXIST : 0;
    case OpKind::kSlaveMounts:
      return checked(::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr));
    case OpKind::kPivotUnder:
      return pivot_under(a);
    case OpKind::kDetach:
      return detach(a);
    case OpKind::kMakeParents:
      return make_parents(a, mode);
    case OpKind::kNeedDir:
      return need_dir(a, mode);
    case OpKind::kNeedFile:
      return need_file(a, mode);
    case OpKind::kLinkInside:
      return link_inside(context, a, b);
    case OpKind::kChmodInside:
      return chmod_inside(a, mode);
    case OpKind::kOpenInside:
      return open_data(context, open_inside(a, O_WRONLY | O_CREAT | O_TRUNC, mode));
    case OpKind::kOpenOutside:
      return open_data(context, ::open(a, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    case OpKind::kCopyData:
      return copy_data(context, op.slot);
    case OpKind::kUnlink:
      return checked(::unlink(a));
    case OpKind::kBindTo:
      return bind_to(context, op);
    case OpKind::kMountTo:
      return mount_to(context, op);
    case OpKind::kSetInside:
      return set_inside(a, op.flags);
    case OpKind::kCoverProc:
      return cover_proc(a, op.flags);
    case OpKind::kBoundCapabilities:
      return bound_capabilities(op.dev);
    case OpKind::kKeepCapabilities:
      return keep_capabilities(op.dev, op.flags != 0);
    case OpKind::kLockFile:
      return lock_file(context, a);
    case OpKind::kTryDir:
      return try_dir(context, op);
    case OpKind::kSeccompProgram:
      return load_program(context, op);
    default:
      return EINVAL;
  }
}

}  // namespace sbx
