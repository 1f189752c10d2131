// SPDX-License-Identifier: Apache-2.0
// One table: where a call keeps its path, its directory and its flags.
#include "trace/file_call.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>

#include <optional>

#include "trace/inside_paths.h"

namespace sbx {
namespace {

using Need = FileNeed;

constexpr std::int8_t kNone = -1;  // no such argument

struct Row {
  int number;
  const char* operation;
  Need need;
  std::int8_t dirfd;  // argument, or kNone: the working directory
  std::int8_t path;
  std::int8_t flags = kNone;  // argument with AT_* flags
  bool follows = true;        // without such flags
  std::uint64_t rights = 0;
};

constexpr std::uint64_t kMakes = sys::kLandlockFsMakeReg;

constexpr Row kRows[] = {
    {SYS_chdir, "chdir", Need::kLook, kNone, 0},
    {SYS_newfstatat, "stat", Need::kLook, 0, 1, 3},
    {SYS_statx, "stat", Need::kLook, 0, 1, 2},
    {SYS_faccessat, "stat", Need::kLook, 0, 1},
    {SYS_faccessat2, "stat", Need::kLook, 0, 1, 3},
    {SYS_readlinkat, "stat", Need::kLook, 0, 1, kNone, false},
    {SYS_truncate, "truncate", Need::kWrite, kNone, 0, kNone, true, sys::kLandlockFsTruncate},
    {SYS_mkdirat, "mkdir", Need::kCreate, 0, 1, kNone, false, sys::kLandlockFsMakeDir},
    {SYS_mknodat, "mknod", Need::kCreate, 0, 1, kNone, false, kMakes},
    {SYS_symlinkat, "symlink", Need::kCreate, 1, 2, kNone, false, sys::kLandlockFsMakeSym},
    {SYS_unlinkat, "unlink", Need::kRemove, 0, 1, kNone, false, sys::kLandlockFsRemoveFile},
    {SYS_renameat, "rename", Need::kRemove, 0, 1, kNone, false, sys::kLandlockFsRemoveFile},
    {SYS_renameat, "rename", Need::kReplace, 2, 3, kNone, false, kMakes},
    {SYS_renameat2, "rename", Need::kRemove, 0, 1, kNone, false, sys::kLandlockFsRemoveFile},
    {SYS_renameat2, "rename", Need::kReplace, 2, 3, kNone, false, kMakes},
    {SYS_linkat, "link", Need::kLook, 0, 1, kNone, false},
    {SYS_linkat, "link", Need::kCreate, 2, 3, kNone, false, kMakes},
    {SYS_fchmodat, "chmod", Need::kChange, 0, 1},
    {sys::kNrFchmodat2, "chmod", Need::kChange, 0, 1, 3},
    {SYS_fchownat, "chown", Need::kChange, 0, 1, 4},
    {SYS_fchmod, "chmod", Need::kChange, 0, kNone},
    {SYS_fchown, "chown", Need::kChange, 0, kNone},
    {SYS_fsetxattr, "setxattr", Need::kChange, 0, kNone},
    {SYS_fremovexattr, "setxattr", Need::kChange, 0, kNone},
    {SYS_utimensat, "utime", Need::kChange, 0, 1, 3},
    {SYS_setxattr, "setxattr", Need::kChange, kNone, 0},
    {SYS_lsetxattr, "setxattr", Need::kChange, kNone, 0, kNone, false},
    {SYS_removexattr, "setxattr", Need::kChange, kNone, 0},
    {SYS_lremovexattr, "setxattr", Need::kChange, kNone, 0, kNone, false},
    {SYS_execve, "exec", Need::kExec, kNone, 0, kNone, true, sys::kLandlockFsExecute},
    {SYS_execveat, "exec", Need::kExec, 0, 1, 4, true, sys::kLandlockFsExecute},
#ifdef __x86_64__
    {SYS_stat, "stat", Need::kLook, kNone, 0},
    {SYS_lstat, "stat", Need::kLook, kNone, 0, kNone, false},
    {SYS_access, "stat", Need::kLook, kNone, 0},
    {SYS_readlink, "stat", Need::kLook, kNone, 0, kNone, false},
    {SYS_mkdir, "mkdir", Need::kCreate, kNone, 0, kNone, false, sys::kLandlockFsMakeDir},
    {SYS_mknod, "mknod", Need::kCreate, kNone, 0, kNone, false, kMakes},
    {SYS_symlink, "symlink", Need::kCreate, kNone, 1, kNone, false, sys::kLandlockFsMakeSym},
    {SYS_unlink, "unlink", Need::kRemove, kNone, 0, kNone, false, sys::kLandlockFsRemoveFile},
    {SYS_rmdir, "rmdir", Need::kRemove, kNone, 0, kNone, false, sys::kLandlockFsRemoveDir},
    {SYS_rename, "rename", Need::kRemove, kNone, 0, kNone, false, sys::kLandlockFsRemoveFile},
    {SYS_rename, "rename", Need::kReplace, kNone, 1, kNone, false, kMakes},
    {SYS_link, "link", Need::kLook, kNone, 0, kNone, false},
    {SYS_link, "link", Need::kCreate, kNone, 1, kNone, false, kMakes},
    {SYS_chmod, "chmod", Need::kChange, kNone, 0},
    {SYS_chown, "chown", Need::kChange, kNone, 0},
    {SYS_lchown, "chown", Need::kChange, kNone, 0, kNone, false},
    {SYS_utime, "utime", Need::kChange, kNone, 0},
    {SYS_utimes, "utime", Need::kChange, kNone, 0},
    {SYS_futimesat, "utime", Need::kChange, 0, 1},
#endif
};

NamedFile opened(int dirfd, std::uint64_t address, std::uint64_t flags) {
  NamedFile file{"open", Need::kRead, dirfd, address};
  file.follows = (flags & O_NOFOLLOW) == 0;
  const std::uint64_t access = flags & O_ACCMODE;
  if ((flags & O_PATH) != 0) {
    file.need = Need::kLook;
  } else if ((flags & O_TMPFILE) == O_TMPFILE) {
    file.need = Need::kChange;  // of the directory
  } else {
    if (access != O_WRONLY) file.landlock_rights |= sys::kLandlockFsReadFile;
    if (access != O_RDONLY) file.landlock_rights |= sys::kLandlockFsWriteFile;
    if ((flags & O_TRUNC) != 0) file.landlock_rights |= sys::kLandlockFsTruncate;
    if (access != O_RDONLY || (flags & O_TRUNC) != 0) file.need = Need::kWrite;
    file.creates = (flags & O_CREAT) != 0;
    file.is_exclusive = file.creates && (flags & O_EXCL) != 0;
  }
  return file;
}

}  // namespace

bool is_told_for_changes(int number) {
  switch (number) {
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_execve:
    case SYS_execveat:
#ifdef __x86_64__
    case SYS_rename:
#endif
      return false;
    default:
      return true;
  }
}

std::vector<NamedFile> files_of(const sys::SeccompNotif& notification) {
  const sys::SeccompData& call = notification.data;
  const auto int_arg = [&](int index) { return static_cast<int>(call.args[index]); };
  switch (call.nr) {
#ifdef __x86_64__
    case SYS_open:
      return {opened(AT_FDCWD, call.args[0], call.args[1])};
    case SYS_creat:
      return {opened(AT_FDCWD, call.args[0], O_CREAT | O_WRONLY | O_TRUNC)};
#endif
    case SYS_openat:
      return {opened(int_arg(0), call.args[1], call.args[2])};
    case SYS_openat2: {
      const auto flags = read_word(notification.pid, call.args[2]);
      if (!flags) return {};
      return {opened(int_arg(0), call.args[1], *flags)};
    }
    default:
      break;
  }
  std::vector<NamedFile> files;
  for (const Row& row : kRows) {
    if (row.number != call.nr) continue;
    NamedFile file{row.operation, row.need, row.dirfd == kNone ? AT_FDCWD : int_arg(row.dirfd),
                   row.path == kNone ? 0 : call.args[row.path]};
    const int flags = row.flags == kNone ? 0 : int_arg(row.flags);
    file.follows = row.follows && (flags & AT_SYMLINK_NOFOLLOW) == 0;
    file.may_be_empty = row.need == Need::kExec && (flags & AT_EMPTY_PATH) != 0;
    file.is_held = row.path == kNone || (row.number == SYS_utimensat && file.address == 0);
    file.landlock_rights = row.rights;
    if (call.nr == SYS_unlinkat && (int_arg(2) & AT_REMOVEDIR) != 0) {
      file.operation = "rmdir";
      file.landlock_rights = sys::kLandlockFsRemoveDir;
    }
    file.must_be_new = call.nr == SYS_renameat2 && (int_arg(4) & RENAME_NOREPLACE) != 0;
    files.push_back(file);
  }
  return files;
}

}  // namespace sbx
