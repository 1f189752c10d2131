// SPDX-License-Identifier: Apache-2.0
// Made, locked, removed by the last.
#include "host_files/stubs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/by_number.h"
#include "host/protect.h"
#include "host_files/open_way.h"

namespace sbx {
namespace {

constexpr int kAttempts = 200;  // another run may be about to remove the one that stands there

// At no moment does it look like anything but a stub, unless a default access list, which a command
// may have set, takes away from its mode.
bool make_stub(const std::string& path) {
  const mode_t umask_before = umask(0);
  const bool made = mkdir(path.c_str(), kStubMode) == 0;
  umask(umask_before);
  if (!made) return false;
  const OwnedFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (fstat(fd.get(), &info) == 0 && (~info.st_mode & (S_IRUSR | S_IXUSR)) == 0) return true;
  if (fd.is_open()) return chmod(by_number(fd.get()).c_str(), kStubMode) == 0;
  errno = EEXIST;  // another run has taken it away already
  return false;
}

// A lock on the stub that stands at `path` now; closed where it was removed meanwhile.
OwnedFd hold(const std::string& path) {
  OwnedFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat held {};
  struct stat now {};
  const bool same = fd.is_open() && flock(fd.get(), LOCK_SH | LOCK_NB) == 0 &&
                    fstat(fd.get(), &held) == 0 && lstat(path.c_str(), &now) == 0 &&
                    held.st_ino == now.st_ino && held.st_dev == now.st_dev;
  return same ? std::move(fd) : OwnedFd();
}

bool remove_stub(const std::string& path) {
  return rmdir(path.c_str()) == 0;  // takes an empty directory only
}

// Whether a process that is gone has left nothing there that can be removed.
bool is_removed(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return errno != EACCES;
  if (!is_stub(path, info)) return true;
  const OwnedFd lock = hold(path);
  if (!lock.is_open() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  return remove_stub(path) || (errno != ENOENT && errno != EACCES);
}

// What somebody has put something into is theirs, as if mkdir(2) had been theirs as well.
void give_up(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || (info.st_mode & S_ISVTX) == 0) return;
  const mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(fd, info.st_mode & 06777U & ~mask);
}

}  // namespace

Status Stubs::make(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    OwnedFd lock;
    int error = 0;
    for (int i = 0; i < kAttempts && !lock.is_open(); ++i) {
      const bool made = with_open_way(path, make_stub);
      error = made ? EAGAIN : errno;
      if (!made && error != EEXIST) break;
      struct stat there {};
      if (!made && lstat(path.c_str(), &there) != 0) continue;  // another run's, just removed
      if (!made && !is_stub(path, there)) {
        error = 0;  // somebody else's
        break;
      }
      lock = hold(path);
      const struct timespec pause { 0, 1'000'000 };
      if (!lock.is_open()) nanosleep(&pause, nullptr);
    }
    if (lock.is_open()) {
      held_.emplace_back(path, std::move(lock));
    } else if (error != 0) {
      return Error{ErrorCode::kSetupFailed, "mkdir(" + path + "): " + errno_text(error), path,
                   "the place of a missing protected path must be held during the run: make the "
                   "root writable, or write {\"path\": …, \"missing\": \"report\"}",
                   error};
    }
  }
  return {};
}

std::vector<OwnedFd> Stubs::remove() {
  std::vector<OwnedFd> removed;
  for (auto& [path, lock] : held_) {
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (with_open_way(path, remove_stub)) {
      removed.push_back(std::move(lock));
    } else if (errno == ENOTEMPTY) {
      give_up(lock.get());
    }
  }
  held_.clear();  // what stands there from now on is another run's
  return removed;
}

void Stubs::remove_left(const std::vector<std::string>& paths) {
  // What was forked meanwhile may hold a lock for a moment longer.
  constexpr int kRounds = 50;
  std::vector<std::string> left = paths;
  for (int i = 0; i < kRounds && !left.empty(); ++i) {
    std::erase_if(left, [](const std::string& path) { return with_open_way(path, is_removed); });
    const struct timespec pause { 0, 10'000'000 };
    if (!left.empty()) nanosleep(&pause, nullptr);
  }
}

}  // namespace sbx
