// SPDX-License-Identifier: Apache-2.0
// Opened from the top on, closed in the opposite order.
#include "host_files/open_way.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/by_number.h"
#include "base/owned_fd.h"
#include "base/paths.h"
#include "sys/calls.h"

namespace sbx {
namespace {

constexpr int kAttempts = 50;  // another run may close again what it has opened as well

OwnedFd open_directory(const std::string& path) {
  const sys::OpenHow how{O_PATH | O_DIRECTORY | O_CLOEXEC, 0, sys::kResolveNoSymlinks};
  return OwnedFd(sys::openat2(AT_FDCWD, path.c_str(), how));
}

bool set_mode(const OwnedFd& fd, mode_t mode) {
  return chmod(by_number(fd.get()).c_str(), mode & 07777) == 0;
}

// From the directory whose name ends at `end` on.
bool open_from(std::size_t end, const std::string& path, const PathChange& change) {
  if (end == std::string::npos) return change(path);
  const std::size_t next = path.find('/', end + 1);
  const OwnedFd fd = open_directory(path.substr(0, end));
  struct stat info {};
  (void)fstat(fd.get(), &info);
  const mode_t before = info.st_mode;
  const mode_t meanwhile = before | S_IXUSR | (next == std::string::npos ? S_IWUSR : 0U);
  const bool opens = info.st_uid == geteuid() && meanwhile != before && set_mode(fd, meanwhile);
  const bool done = open_from(next, path, change);
  const int error = errno;
  // Unless somebody has set another one since.
  if (opens && fstat(fd.get(), &info) == 0 && info.st_mode == meanwhile) {
    (void)set_mode(fd, before);
  }
  errno = error;
  return done;
}

}  // namespace

OwnedFd open_parent(const std::string& path) {
  return open_directory(std::string(parent_of(path)));
}

bool with_open_way(const std::string& path, const PathChange& change) {
  bool done = change(path);
  for (int i = 0; i < kAttempts && !done && errno == EACCES; ++i) {
    done = open_from(path.find('/', 1), path, change);
  }
  return done;
}

}  // namespace sbx
