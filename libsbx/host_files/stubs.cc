// SPDX-License-Identifier: Apache-2.0
// Made, locked, removed by the last.
#include "host_files/stubs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/by_number.h"
#include "base/paths.h"
#include "host/protect.h"
#include "host_files/open_way.h"

namespace sbx {
namespace {

constexpr int kAttempts = 200;  // another run may be about to remove the one that stands there

// By way of the directory that holds it.
std::string path_in(const OwnedFd& parent, const std::string& name) {
  return join_path(by_number(parent.get()), name);
}

// At no moment does it look like anything but a stub, unless a default access list, which a command
// may have set, takes away from its mode.
bool make_stub(const OwnedFd& parent, const std::string& name) {
  const mode_t umask_before = umask(0);
  const bool made = mkdirat(parent.get(), name.c_str(), kStubMode) == 0;
  umask(umask_before);
  if (!made) return false;
  const OwnedFd fd(
      openat(parent.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (fstat(fd.get(), &info) == 0 && (~info.st_mode & (S_IRUSR | S_IXUSR)) == 0) return true;
  if (fd.is_open()) return chmod(by_number(fd.get()).c_str(), kStubMode) == 0;
  errno = EEXIST;  // another run has taken it away already
  return false;
}

bool stands_at(const OwnedFd& parent, const std::string& name, const OwnedFd& stub) {
  struct stat held {};
  struct stat now {};
  return fstat(stub.get(), &held) == 0 &&
         fstatat(parent.get(), name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == now.st_ino && held.st_dev == now.st_dev;
}

// A lock on the stub that stands there now; closed where it was removed meanwhile.
OwnedFd hold(const OwnedFd& parent, const std::string& name) {
  OwnedFd fd(openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const bool same =
      fd.is_open() && flock(fd.get(), LOCK_SH | LOCK_NB) == 0 && stands_at(parent, name, fd);
  return same ? std::move(fd) : OwnedFd();
}

bool remove_stub(const OwnedFd& parent, const std::string& name, const OwnedFd& stub) {
  if (!parent.is_open()) return false;
  errno = 0;
  if (stands_at(parent, name, stub)) {
    return unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0;  // takes an empty one only
  }
  if (errno != EACCES) errno = ENOENT;
  return false;
}

bool remove_at(const std::string& path, const OwnedFd& stub) {
  return with_open_way(path, [&stub](const std::string& at) {
    return remove_stub(open_parent(at), std::string(name_part(at)), stub);
  });
}

// Where another run has moved it; empty: nowhere.
std::string place_of(const OwnedFd& stub) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = readlink(by_number(stub.get()).c_str(), path.data(), path.size());
  return size > 0 && path[0] == '/' ? std::string(path.data(), static_cast<std::size_t>(size)) : "";
}

// Whether a process that is gone has left nothing there that can be removed.
bool is_removed(const std::string& path) {
  const OwnedFd parent = open_parent(path);
  const std::string name(name_part(path));
  struct stat info {};
  if (!parent.is_open() || fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno != EACCES;
  }
  if (!is_stub(path_in(parent, name), info)) return true;
  const OwnedFd lock = hold(parent, name);
  if (!lock.is_open() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  return remove_stub(parent, name, lock) || (errno != ENOENT && errno != EACCES);
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
    const std::string name(name_part(path));
    OwnedFd parent;
    const auto make_it = [&](const std::string&) {
      parent = open_parent(path);
      return parent.is_open() && make_stub(parent, name);
    };
    OwnedFd lock;
    int error = 0;
    for (int i = 0; i < kAttempts && !lock.is_open(); ++i) {
      const bool made = with_open_way(path, make_it);
      error = made ? EAGAIN : errno;
      if (!made && error != EEXIST) break;
      struct stat there {};
      if (!made && fstatat(parent.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
        continue;  // another run's, just removed
      }
      if (!made && !is_stub(path_in(parent, name), there)) {
        error = 0;  // somebody else's
        break;
      }
      lock = hold(parent, name);
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
    bool is_gone = remove_at(path, lock);
    if (!is_gone && errno != ENOTEMPTY) is_gone = remove_at(place_of(lock), lock);
    if (is_gone) {
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
