// SPDX-License-Identifier: Apache-2.0
// posix_spawn(3), so that a large caller's pages are not copied.
#include "base/start_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>

#include <cerrno>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/pointers.h"

namespace sbx {
namespace {

Error failed(const std::string& program, const char* call, int error) {
  return call_failed(ErrorCode::kSetupFailed, program + ": " + call, call,
                     "raise the limits of open files and processes", error);
}

// Out of the way of what it will be: of the same number it would stay close-on-exec in an old libc.
Result<OwnedFd> lifted(int fd, const std::string& program) {
  if (fd < 0) return OwnedFd();
  OwnedFd high(fcntl(fd, F_DUPFD_CLOEXEC, 64));
  if (!high.is_open()) return failed(program, "fcntl", errno);
  return high;
}

}  // namespace

Result<pid_t> start_program(const ProgramStart& start) {
  const std::string& program = start.arguments.front();
  SBX_TRY(const OwnedFd output, lifted(start.output, program));
  SBX_TRY(const OwnedFd fourth, lifted(start.fourth, program));
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
  if (output.is_open()) posix_spawn_file_actions_adddup2(&actions, output.get(), 1);
  if (fourth.is_open()) posix_spawn_file_actions_adddup2(&actions, fourth.get(), 3);
  if (start.directory != nullptr) {
    posix_spawn_file_actions_addchdir_np(&actions, start.directory);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, fourth.is_open() ? 4 : 3);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  char* const nothing[] = {nullptr};
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, program.c_str(), &actions, &attributes, pointers(start.arguments).data(),
                   start.environment == nullptr ? nothing : start.environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return failed(program, "posix_spawn", error);
  return pid;
}

Result<pid_t> start_companion(const std::string& name, int fd) {
  SBX_TRY(const std::string path, companion(name));
  return start_program({.arguments = {path}, .fourth = fd});
}

}  // namespace sbx
