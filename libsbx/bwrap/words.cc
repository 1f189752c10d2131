// SPDX-License-Identifier: Apache-2.0
// Which step failed, and why → the message that bubblewrap gives for it. Pure.
#include <cerrno>
#include <cstring>

#include "bwrap/plan.h"

namespace sbx::bwrap {
namespace {

using std::string;

string inside(const char* path) {
  while (*path == '/') ++path;
  return string(kNewRoot) + "/" + path;
}

string map_words(std::string_view path) {
  if (path.ends_with("uid_map")) return "setting up uid map";
  if (path.ends_with("gid_map")) return "setting up gid map";
  if (path.ends_with("setgroups")) return "error writing to setgroups";
  return "sysctl user.max_user_namespaces = 1";
}

string link_words(const char* path, int error, const char* detail) {
  const string start = string("Can't make symlink at ") + path + ": ";
  if (*detail == '\0') return start + std::strerror(error);
  if (error == EEXIST) return start + "existing destination is " + detail;
  if (error == EINVAL) return start + "destination exists and is not a symlink";
  return start + "destination exists, and cannot read symlink target: " + std::strerror(error);
}

string mount_words(const Op& op, const char* path, const char* options, int error) {
  const string dest = inside(path);
  switch (static_cast<FileSystem>(op.slot)) {
    case FileSystem::kTmpfs:
      return "Can't mount tmpfs on " + dest + ": " + mount_error_words(error);
    case FileSystem::kProc:
      return "Can't mount proc on " + dest + ": " + mount_error_words(error);
    case FileSystem::kDevpts:
      return "Can't mount devpts on " + dest + ": " + mount_error_words(error);
    case FileSystem::kMqueue:
      return "Can't mount mqueue on " + dest + ": " + mount_error_words(error);
    case FileSystem::kOverlay:
      break;
  }
  return "Can't make overlay mount on " + dest + " with options " + options + ": " +
         (error == ELOOP ? "Overlay directories may not overlap" : mount_error_words(error));
}

string octal(std::uint64_t mode) {
  string digits;
  for (; mode != 0; mode >>= 3) digits.insert(digits.begin(), static_cast<char>('0' + (mode & 7)));
  return "0" + digits;
}

}  // namespace

string mount_error_words(int error) {
  if (error == ENOSPC) {
    return "Limit exceeded (ENOSPC). (Hint: Check that /proc/sys/fs/mount-max is sufficient, "
           "typically 100000.)";
  }
  return std::strerror(error);
}

string failure_words(const LaunchPlan& plan, const Op& op, int error, const char* detail) {
  const char* const a = plan.text(op.a);
  const char* const b = plan.text(op.b);
  const string why = string(": ") + std::strerror(error);
  switch (op.kind) {
    case OpKind::kNoNewPrivs:
      return "prctl(PR_SET_NO_NEW_PRIVS) failed" + why;
    case OpKind::kWriteFile:
    case OpKind::kWriteProc:
      return map_words(a) + why;
    case OpKind::kSetIds:
      return "unable to switch to uid " + std::to_string(op.dev) + ", gid " +
             std::to_string(op.ino) + why;
    case OpKind::kLoopbackUp:
      return "loopback: Failed RTM_NEWADDR" + why;
    case OpKind::kOpenProc:
      return "Can't open /proc" + why;
    case OpKind::kSlaveMounts:
      return "Failed to make / slave: " + mount_error_words(error);
    case OpKind::kMountTmpfs:
      return "Failed to mount tmpfs: " + mount_error_words(error);
    case OpKind::kEnterRoot:
      return string("chdir ") + a + why;
    case OpKind::kMakeDir:
      return string("Creating ") + a + " failed" + why;
    case OpKind::kBindSystem:
      return "setting up newroot bind: " + mount_error_words(error);
    case OpKind::kPivotUnder:
      return "pivot_root" + why;
    case OpKind::kPivot:
      return "pivot_root(/newroot)" + why;
    case OpKind::kDetach:
      return "unmount old root" + why;
    case OpKind::kMakeParents:
      return string("Can't mkdir parents for ") + a + why;
    case OpKind::kNeedDir:
      return string("Can't mkdir ") + a + why;
    case OpKind::kNeedFile:
      return string("Can't create file at ") + a + why;
    case OpKind::kLinkInside:
      return link_words(a, error, detail);
    case OpKind::kChmodInside:
      return "Can't chmod " + octal(op.flags) + " " + a + why;
    case OpKind::kOpenInside:
      return string("Can't create file ") + a + why;
    case OpKind::kOpenOutside:
      return "Can't create tmpfile" + why;
    case OpKind::kCopyData:
      return string("Can't write data to file ") + a + why;
    case OpKind::kUnlink:
      return string("unlink ") + a + why;
    case OpKind::kBindTo:
      return string("Can't bind mount ") + b + " on " + inside(a) +
             ": Unable to mount source on destination: " + mount_error_words(error);
    case OpKind::kMountTo:
      return mount_words(op, a, b, error);
    case OpKind::kSetInside:
      return "Can't remount readonly on " + inside(a) + ": " +
             (error == EINVAL   ? "Unable to find \"" + inside(a) + "\" in mount table"
              : error == ENOENT ? "realpath(destination)" + why
                                : "Unable to apply mount flags: remount \"" + inside(a) +
                                      "\": " + mount_error_words(error));
    case OpKind::kCoverProc:
      return "Can't remount readonly below " + inside(a) + why;
    case OpKind::kSetHostname:
      return string("Can't set hostname to ") + a + why;
    case OpKind::kJoinUser:
      return "Setting userns2 failed" + why;
    case OpKind::kUnshareUser:
      return "unshare user ns" + why;
    case OpKind::kRefuseUser:
      return "creation of new user namespaces was not disabled as requested";
    case OpKind::kBoundCapabilities:
      return "Dropping capabilities from bounds" + why;
    case OpKind::kKeepCapabilities:
      return "capset failed" + why;
    case OpKind::kNewSession:
      return "setsid" + why;
    case OpKind::kLockFile:
      return string(error == EAGAIN ? "Unable to lock file " : "Unable to open lock file ") + a +
             why;
    case OpKind::kForkCommand:
      return "Can't fork for pid 1" + why;
    case OpKind::kDieWithParent:
      return "prctl" + why;
    case OpKind::kChangeDir:
      return string("Can't chdir to ") + a + why;
    case OpKind::kSeccompProgram:
      if (error == EINVAL) {
        return "Unable to set up system call filtering as requested: prctl(PR_SET_SECCOMP) "
               "reported EINVAL. (Hint: this requires a kernel configured with CONFIG_SECCOMP and "
               "CONFIG_SECCOMP_FILTER.)";
      }
      return "prctl(PR_SET_SECCOMP)" + why;
    case OpKind::kExecute:
      return string("execvp ") + a + why;
    default:
      return describe_op(plan, op) + why;
  }
}

}  // namespace sbx::bwrap
