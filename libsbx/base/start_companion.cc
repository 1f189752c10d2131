// SPDX-License-Identifier: Apache-2.0
// posix_spawn(3), so that a large caller's pages are not copied.
#include "base/start_companion.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <cerrno>

#include "base/files.h"
#include "base/owned_fd.h"

namespace sbx {
namespace {

Error failed(const std::string& name, const char* call, int error) {
  return Error{ErrorCode::kSetupFailed, name + ": " + call + ": " + errno_text(error), call,
               "raise the limits of open files and processes", error};
}

}  // namespace

Result<pid_t> start_companion(const std::string& name, int fd) {
  SBX_TRY(const std::string path, companion(name));
  // Of the same number it would stay close-on-exec in an old libc.
  const OwnedFd high(fcntl(fd, F_DUPFD_CLOEXEC, 64));
  if (!high.is_open()) return failed(name, "fcntl", errno);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigset_t usual;
  sigemptyset(&none);
  sigfillset(&usual);
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (int own = 0; own < 3; ++own) {
    posix_spawn_file_actions_addopen(&actions, own, "/dev/null", O_RDWR, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, high.get(), 3);
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  char* const arguments[] = {const_cast<char*>(name.c_str()), nullptr};
  char* const nothing[] = {nullptr};
  pid_t pid = -1;
  const int error = posix_spawn(&pid, path.c_str(), &actions, &attributes, arguments, nothing);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return failed(name, "posix_spawn", error);
  return pid;
}

}  // namespace sbx
