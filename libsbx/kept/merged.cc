// SPDX-License-Identifier: Apache-2.0
// Overlayfs, kernel documentation: a deletion is a character device 0:0; a directory that replaces
// one is marked opaque.
#include "kept/merged.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <map>

#include "base/by_number.h"
#include "base/files.h"
#include "host_files/changes.h"
#include "sys/calls.h"
#include "sys/overlay.h"

namespace sbx {
namespace {

class Walker {
 public:
  Walker(const std::vector<OwnedFd>& levels, const std::function<bool(const MergedEntry&)>& visit,
         OpenedDirectories* kept)
      : levels_(levels), visit_(visit), kept_(kept) {}

  bool run() {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < levels_.size(); ++i) all.push_back(i);
    const bool is_whole = walk("", all, 0) && is_whole_;
    for (const Opened& one : opened_) {
      const Result<std::string> level = real_path(by_number(levels_[one.level].get()));
      if (level.ok()) kept_->add(level.value() + "/" + one.path, one.mode);
    }
    return is_whole;
  }

 private:
  struct Shown {
    std::size_t level;
    struct stat info;
  };

  // A directory that its owner may not enter is the command's doing: it is opened for the look.
  int open_directory(std::size_t level, const std::string& path) {
    const int root = levels_[level].get();
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const std::string& name = path.empty() ? "." : path;
    int fd = open_beneath(root, name, kFlags);
    if (fd >= 0 || errno != EACCES) return fd;
    // By "." no call gets into a directory that its owner may not enter.
    const OwnedFd handle(path.empty() ? fcntl(root, F_DUPFD_CLOEXEC, 0)
                                      : open_beneath(root, path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!handle.is_open() || fstat(handle.get(), &info) != 0) return -1;
    if (chmod(by_number(handle.get()).c_str(), info.st_mode | 0500) != 0) return -1;
    fd = open_beneath(root, name, kFlags);
    opened_.emplace_back(level, path, info.st_mode & 07777);
    return fd;
  }

  struct Opened {
    Opened(std::size_t at, std::string where, mode_t was)
        : level(at), path(std::move(where)), mode(was) {}
    std::size_t level;
    std::string path;
    mode_t mode;
  };

  void close_again(std::size_t from) {
    while (opened_.size() > from) {
      const Opened& last = opened_.back();
      const OwnedFd handle(open_beneath(levels_[last.level].get(),
                                        last.path.empty() ? "." : last.path,
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (handle.is_open()) (void)!fchmod(handle.get(), last.mode);
      opened_.pop_back();
    }
  }

  bool walk(const std::string& path, const std::vector<std::size_t>& levels, int depth) {
    const std::size_t opened = opened_.size();
    const bool goes_on = walk_opened(path, levels, depth);
    if (kept_ == nullptr) close_again(opened);
    return goes_on;
  }

  bool walk_opened(const std::string& path, const std::vector<std::size_t>& levels, int depth) {
    std::map<std::string, Shown> names;
    for (const std::size_t level : levels) {
      const OwnedFd fd(open_directory(level, path));
      Listing listing = fd.is_open() ? Listing(fd.get(), ".") : Listing();
      if (!listing.is_open()) {
        is_whole_ = false;
        continue;
      }
      while (const dirent* entry = listing.next()) {
        Shown shown{level, {}};
        if (fstatat(listing.fd(), entry->d_name, &shown.info, AT_SYMLINK_NOFOLLOW) == 0) {
          names.try_emplace(entry->d_name, shown);
        }
      }
    }
    for (const auto& [name, shown] : names) {
      if (!show(path.empty() ? name : path + "/" + name, shown, levels, depth)) return false;
    }
    return true;
  }

  bool show(const std::string& path, const Shown& shown, const std::vector<std::size_t>& levels,
            int depth) {
    MergedEntry entry{path, shown.level, shown.info};
    entry.is_whiteout = is_whiteout(shown.info);
    if (!S_ISDIR(shown.info.st_mode)) return visit_(entry);
    std::vector<std::size_t> below;
    for (const std::size_t level : levels) {
      if (level < shown.level || entry.is_opaque) continue;
      struct stat info {};
      if (!stat_beneath(levels_[level].get(), path, info)) continue;
      if (!S_ISDIR(info.st_mode)) {
        entry.is_opaque = true;
        break;
      }
      below.push_back(level);
      const OwnedFd fd(open_directory(level, path));
      entry.is_opaque = fd.is_open() && sys::is_opaque(fd.get());
    }
    if (!visit_(entry)) return false;
    // Its path may have become too long for any call.
    if (depth == kDeepest || below.empty()) {
      is_whole_ = false;
      return true;
    }
    return walk(path, below, depth + 1);
  }

  const std::vector<OwnedFd>& levels_;
  const std::function<bool(const MergedEntry&)>& visit_;
  OpenedDirectories* const kept_;
  std::vector<Opened> opened_;
  bool is_whole_ = true;
};

}  // namespace

int open_beneath(int root, const std::string& path, int flags, std::uint32_t mode) {
  sys::OpenHow how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.mode = mode;
  how.resolve = sys::kResolveBeneath | sys::kResolveNoSymlinks | sys::kResolveNoMagiclinks;
  int fd = -1;
  do fd = sys::openat2(root, path.c_str(), how);
  while (fd < 0 && errno == EINTR);
  return fd;
}

bool stat_beneath(int root, const std::string& path, struct stat& info) {
  const OwnedFd handle(
      open_beneath(root, path.empty() ? "." : path, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return handle.is_open() && fstat(handle.get(), &info) == 0;
}

bool is_whiteout(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
}

std::size_t find_level(std::vector<OwnedFd>& levels, const std::string& path, struct stat& info) {
  std::size_t found = 0;
  errno = ENOENT;
  while (found < levels.size() && !stat_beneath(levels[found].get(), path, info)) {
    if (!is_missing(errno)) return levels.size();
    ++found;
  }
  if (found == levels.size() || !S_ISDIR(info.st_mode)) return found;
  for (std::size_t below = found; below < levels.size(); ++below) {
    struct stat its {};
    if (!stat_beneath(levels[below].get(), path, its)) continue;
    const OwnedFd fd(
        open_beneath(levels[below].get(), path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const bool is_last = fd.is_open() && sys::is_opaque(fd.get());
    if (S_ISDIR(its.st_mode) && !is_last) continue;
    levels.resize(S_ISDIR(its.st_mode) ? below + 1 : below);
  }
  return found;
}

bool lies_below_any(std::string_view path, const std::set<std::string>& those) {
  for (std::size_t at = path.rfind('/'); at != std::string_view::npos && at != 0;
       at = path.rfind('/', at - 1)) {
    if (those.contains(std::string(path.substr(0, at)))) return true;
  }
  return false;
}

std::vector<OwnedFd> open_levels(const std::vector<std::string>& paths) {
  std::vector<OwnedFd> out;
  for (const std::string& path : paths) {
    OwnedFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd.is_open()) out.push_back(std::move(fd));
  }
  return out;
}

bool walk_merged(const std::vector<OwnedFd>& levels,
                 const std::function<bool(const MergedEntry&)>& visit, OpenedDirectories* opened) {
  return Walker(levels, visit, opened).run();
}

void OpenedDirectories::close() {
  for (; !all_.empty(); all_.pop_back()) {
    (void)!chmod(all_.back().first.c_str(), all_.back().second);
  }
}

}  // namespace sbx
