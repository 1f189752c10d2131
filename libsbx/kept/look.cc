// SPDX-License-Identifier: Apache-2.0
// One walk each, by descriptor.
#include "kept/look.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "base/files.h"
#include "base/text.h"
#include "host/owners.h"
#include "kept/merged.h"
#include "kept/store.h"

namespace sbx {
namespace {

constexpr std::size_t kMostEntries = 5'000'000;
constexpr int kMaxDepth = 500;

class Look {
 public:
  explicit Look(dev_t device) : device_(device) {}

  // Whether anything in it could be changed by the caller.
  bool walk(int parent, const char* name, int depth) {
    bool is_writable = false;
    Listing listing(parent, name, O_NOFOLLOW);
    while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
      if (!obstacle_.empty()) return is_writable;
      struct stat info {};
      if (fstatat(listing.fd(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (++seen_ > kMostEntries || depth == kMaxDepth) obstacle_ = "it holds too much to look at";
      bool can_change = may_change(listing.fd(), entry->d_name, info);
      if (S_ISREG(info.st_mode)) note_links(info, can_change);
      if (S_ISDIR(info.st_mode)) {
        if (info.st_dev != device_) {
          obstacle_ = std::string("a file system is mounted at ") + entry->d_name;
          return is_writable;
        }
        can_change = walk(listing.fd(), entry->d_name, depth + 1) || can_change;
      }
      if (can_change && is_foreign(info)) {
        obstacle_ = std::string("owner or group of ") + entry->d_name + " is not the caller's";
      }
      is_writable = is_writable || can_change;
    }
    return is_writable;
  }

  const std::string& obstacle() const { return obstacle_; }

 private:
  void note_links(const struct stat& info, bool can_change) {
    if (info.st_nlink < 2 || !can_change || (info.st_mode & 0222) == 0) return;
    if (!linked_.insert(info.st_ino).second) obstacle_ = "files in it have several names";
  }

  dev_t device_;
  std::set<ino_t> linked_;
  std::size_t seen_ = 0;
  std::string obstacle_;
};

class Copier {
 public:
  Copier(std::size_t root, BaseRecords& records, int real, int copy)
      : root_(root), records_(records), real_(real), copy_(copy) {}

  // A second name changes the time of the first one.
  void stamp_again() {
    for (const std::string& path : relinked_) {
      struct stat info {};
      if (stat_beneath(copy_, path, info)) records_.stamp(root_, path, copy_stamp(info));
    }
  }

  Status walk(const std::string& path, int from, int to, int depth) {
    Listing listing(from, ".");
    while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
      const std::string below = path.empty() ? entry->d_name : path + "/" + entry->d_name;
      struct stat info {};
      if (fstatat(from, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      SBX_CHECK_OK(copy(below, entry->d_name, info, from, to, depth));
    }
    return {};
  }

 private:
  Status copy(const std::string& path, const char* name, const struct stat& info, int from, int to,
              int depth) {
    if (S_ISDIR(info.st_mode)) return copy_directory(path, name, info, from, to, depth);
    if (S_ISLNK(info.st_mode)) {
      std::array<char, 4097> target{};
      if (readlinkat(from, name, target.data(), target.size() - 1) < 0) return {};
      if (symlinkat(target.data(), to, name) != 0) return failed("symlink", path);
    } else if (S_ISFIFO(info.st_mode)) {
      if (mkfifoat(to, name, info.st_mode & 0777) != 0) return failed("mkfifo", path);
    } else if (!S_ISREG(info.st_mode)) {
      return {};
    } else {
      const auto known = linked_.find({info.st_dev, info.st_ino});
      if (info.st_nlink > 1 && known != linked_.end()) {
        if (linkat(copy_, known->second.c_str(), to, name, 0) != 0) return failed("link", path);
        relinked_.push_back(known->second);
      } else {
        bool is_copied = false;
        SBX_CHECK_OK(copy_file(path, name, info, from, to, is_copied));
        if (!is_copied) return {};
        if (info.st_nlink > 1) linked_.emplace(std::pair(info.st_dev, info.st_ino), path);
      }
    }
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    utimensat(to, name, times, AT_SYMLINK_NOFOLLOW);
    record(path, name, to);
    return {};
  }

  Status copy_file(const std::string& path, const char* name, const struct stat& info, int from,
                   int to, bool& is_copied) {
    const OwnedFd source(openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!source.is_open()) return {};
    const OwnedFd target(openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!target.is_open() || !copy_bytes(source.get(), target.get())) return failed("copy", path);
    copy_user_attributes(source.get(), target.get());
    if (fchmod(target.get(), info.st_mode & 0777) != 0) return failed("chmod", path);
    is_copied = true;
    return {};
  }

  Status copy_directory(const std::string& path, const char* name, const struct stat& info,
                        int from, int to, int depth) {
    if (depth == kMaxDepth) return {};
    const OwnedFd source(openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (mkdirat(to, name, 0700) != 0) return failed("mkdir", path);
    const OwnedFd target(openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (source.is_open()) {
      SBX_CHECK_OK(walk(path, source.get(), target.get(), depth + 1));
      copy_user_attributes(source.get(), target.get());
    }
    if (fchmod(target.get(), info.st_mode & 0777) != 0) return failed("chmod", path);
    const struct timespec times[2] = {info.st_atim, info.st_mtim};
    futimens(target.get(), times);
    record(path, name, to);
    return {};
  }

  void record(const std::string& path, const char* name, int to) {
    BaseRecord known = look_at_real(real_, path);
    struct stat info {};
    if (fstatat(to, name, &info, AT_SYMLINK_NOFOLLOW) == 0) known.stamp = copy_stamp(info);
    records_.add(root_, path, known);
  }

  static std::int64_t copy_stamp(const struct stat& info) {
    return std::int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec;
  }

  static Error failed(const std::string& call, const std::string& path) {
    return layer_failure(call + "(" + escape_control_bytes(path) + ") into the layer's copy",
                         errno);
  }

  std::size_t root_;
  BaseRecords& records_;
  int real_;
  int copy_;
  std::map<std::pair<dev_t, ino_t>, std::string> linked_;
  std::vector<std::string> relinked_;
};

// Tried with two files that have no name.
bool may_share_blocks(const std::string& workspace, const std::string& store) {
  struct stat from {};
  struct stat to {};
  if (stat(workspace.c_str(), &from) != 0 || stat(store.c_str(), &to) != 0) return false;
  const OwnedFd source(open(store.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const OwnedFd target(open(store.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  return from.st_dev == to.st_dev && source.is_open() && target.is_open() &&
         write(source.get(), "x", 1) == 1 && ioctl(target.get(), FICLONE, source.get()) == 0;
}

}  // namespace

std::string overlay_obstacle(const std::string& root) {
  struct stat info {};
  if (stat(root.c_str(), &info) != 0) return {};
  Look look(info.st_dev);
  look.walk(AT_FDCWD, root.c_str(), 0);
  return look.obstacle();
}

Result<NewLayer> plan_new_layer(const Environment& environment, const std::string& workspace) {
  SBX_TRY(const LayerStore store, open_layer_store(environment, workspace));
  NewLayer layer;
  layer.directory = store.directory;
  layer.shares_blocks = may_share_blocks(workspace, store.directory);
  layer.obstacle = store.may_overlay ? overlay_obstacle(workspace) : kNoUpper;
  if (!layer.obstacle.empty()) layer.kind = KeptKind::kCopy;
  return layer;
}

Status copy_tree(const std::string& from, const std::string& to, std::size_t root,
                 BaseRecords& records) {
  const OwnedFd source(open(from.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const OwnedFd target(open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!source.is_open()) return layer_failure("open(" + from + ")", errno);
  if (!target.is_open()) return layer_failure("open(" + to + ")", errno);
  Copier copier(root, records, source.get(), target.get());
  SBX_CHECK_OK(copier.walk("", source.get(), target.get(), 0));
  copier.stamp_again();
  return {};
}

bool copy_bytes(int from, int to) {
  if (ioctl(to, FICLONE, from) == 0) return true;
  struct stat info {};
  if (fstat(from, &info) != 0) return false;
  off_t at = 0;
  std::string buffer;
  for (;;) {
    const off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole to the end
    if (data >= 0) at = data;
    off_t in = at;
    off_t out = at;
    ssize_t size = copy_file_range(from, &in, to, &out, std::size_t{1} << 30, 0);
    if (size < 0 && errno != ENOSPC && errno != EDQUOT) {
      buffer.resize(std::size_t{1} << 16);
      size = pread(from, buffer.data(), buffer.size(), at);
      if (size > 0) size = pwrite(to, buffer.data(), static_cast<std::size_t>(size), at);
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    if (size == 0) break;
    at += size;
  }
  return ftruncate(to, std::max<off_t>(info.st_size, at)) == 0;
}

void copy_user_attributes(int from, int to) {
  std::string names(4096, '\0');
  const ssize_t size = flistxattr(from, names.data(), names.size());
  if (size <= 0) return;
  names.resize(static_cast<std::size_t>(size));
  for (const std::string_view name : split(names, '\0')) {
    if (!name.starts_with("user.") || name.starts_with("user.overlay.")) continue;
    std::string value(65536, '\0');
    const std::string text(name);
    const ssize_t length = fgetxattr(from, text.c_str(), value.data(), value.size());
    if (length >= 0) {
      (void)!fsetxattr(to, text.c_str(), value.data(), static_cast<std::size_t>(length), 0);
    }
  }
}

}  // namespace sbx
