// SPDX-License-Identifier: Apache-2.0
// Overlayfs, kernel documentation: a deletion is a character device 0:0 (or a file with the xattr
// overlay.whiteout); a directory that replaces one is marked opaque.
#include "host_files/changes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "base/utf8.h"
#include "host_files/user_attributes.h"
#include "sys/overlay.h"

namespace sbx {
namespace {

// Beyond it a file that was only touched is listed, too.
constexpr off_t kMostCompared = off_t{128} << 20;

// Whether both are the same but for their times. On no stack of a walk that goes deep.
[[gnu::noinline]] bool is_same(int a_dir, const char* a_name, const struct stat& a,
                               const std::string& b_path, const struct stat& b) {
  if (((a.st_mode ^ b.st_mode) & (S_IFMT | 07777)) != 0 || a.st_size != b.st_size) return false;
  std::array<std::array<char, 4096>, 2> bytes{};
  if (S_ISLNK(a.st_mode)) {
    const ssize_t size = readlinkat(a_dir, a_name, bytes[0].data(), bytes[0].size());
    return size > 0 && readlink(b_path.c_str(), bytes[1].data(), bytes[1].size()) == size &&
           bytes[0] == bytes[1];
  }
  if (!S_ISREG(a.st_mode) || a.st_size > kMostCompared) return false;
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const OwnedFd a_file(openat(a_dir, a_name, kFlags));
  const OwnedFd b_file(open(b_path.c_str(), kFlags));
  for (off_t at = 0; at < a.st_size;) {
    const ssize_t size = pread(a_file.get(), bytes[0].data(), bytes[0].size(), at);
    if (size <= 0 || pread(b_file.get(), bytes[1].data(), bytes[1].size(), at) != size ||
        memcmp(bytes[0].data(), bytes[1].data(), static_cast<std::size_t>(size)) != 0) {
      return false;
    }
    at += size;
  }
  return have_same_user_attributes(a_file.get(), b_file.get());
}

struct Found {
  std::vector<Change> changes;
  bool is_whole = true;  // nothing lies too deep
};

// What is left of a name and, where it is a directory, of all in it.
void list_deleted(int dirfd, const char* name, const std::string& path, int depth, Found& out) {
  if (out.changes.size() >= kMaxChanges) return;
  out.changes.push_back({repair_utf8(path), "deleted"});
  Listing listing(dirfd, name, O_NOFOLLOW);
  if (!listing.is_open() && errno == EMFILE) out.is_whole = false;
  while (const dirent* const entry = listing.is_open() ? listing.next() : nullptr) {
    if (depth == kDeepest) {
      out.is_whole = false;
      return;
    }
    list_deleted(listing.fd(), entry->d_name, path + "/" + entry->d_name, depth + 1, out);
  }
}

// `hides`: nothing of the host directory shows through.
void walk(int upper_fd, const std::string& host, bool hides, int depth, Found& found,
          Parted& parted, std::int64_t& bytes) {
  std::vector<Change>& out = found.changes;
  Listing listing(upper_fd, ".");
  if (!listing.is_open()) found.is_whole = false;
  std::set<std::string, std::less<>> shown;
  while (const dirent* entry = listing.next()) {
    const std::string_view name = entry->d_name;
    if (out.size() >= kMaxChanges) return;
    struct stat upper {};
    struct stat lower {};
    if (fstatat(listing.fd(), entry->d_name, &upper, AT_SYMLINK_NOFOLLOW) != 0) continue;
    bytes += upper.st_blocks * 512;
    const std::string path = host + "/" + std::string(name);
    const bool existed = lstat(path.c_str(), &lower) == 0;
    if (!existed && errno == ENAMETOOLONG) {
      found.is_whole = false;
      continue;
    }
    const bool was_directory = existed && S_ISDIR(lower.st_mode);
    if (hides) shown.emplace(name);
    if (S_ISCHR(upper.st_mode) && upper.st_rdev == makedev(0, 0)) {
      if (existed) list_deleted(AT_FDCWD, path.c_str(), path, depth, found);
      continue;
    }
    if (!was_directory || !S_ISDIR(upper.st_mode)) {
      const bool is_touched = existed && is_same(listing.fd(), entry->d_name, upper, path, lower);
      const char* kind = !existed                                               ? "created"
                         : (lower.st_mode & S_IFMT) == (upper.st_mode & S_IFMT) ? "modified"
                                                                                : "replaced";
      if (was_directory) {
        const std::size_t at = out.size();
        list_deleted(AT_FDCWD, path.c_str(), path, depth, found);
        out[at].kind = kind;
      } else if (!is_touched) {
        out.push_back({repair_utf8(path), kind});
        const bool is_same_file = existed && S_ISREG(lower.st_mode) && S_ISREG(upper.st_mode);
        if (is_same_file && lower.st_nlink > 1) parted.note(out.back().path);
      }
    }
    if (!S_ISDIR(upper.st_mode)) continue;
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const OwnedFd child(openat(listing.fd(), entry->d_name, kFlags));
    if (was_directory) {
      const OwnedFd real(open(path.c_str(), kFlags));
      const bool is_like = ((lower.st_mode ^ upper.st_mode) & 07777) == 0 &&
                           (!child.is_open() || have_same_user_attributes(child.get(), real.get()));
      if (!is_like) out.push_back({repair_utf8(path), "modified"});
    }
    if (depth == kDeepest || !child.is_open()) {
      found.is_whole = false;
      continue;
    }
    walk(child.get(), path, was_directory && (hides || sys::is_opaque(child.get())), depth + 1,
         found, parted, bytes);
  }
  if (!hides) return;
  Listing real(AT_FDCWD, host.c_str(), O_NOFOLLOW);
  while (const dirent* const entry = real.is_open() ? real.next() : nullptr) {
    if (shown.contains(std::string_view(entry->d_name))) continue;
    list_deleted(real.fd(), entry->d_name, host + "/" + entry->d_name, depth, found);
  }
}

}  // namespace

std::vector<Change> list_changes(const std::vector<std::string>& lowers,
                                 const std::vector<OwnedFd>& uppers, Parted& parted,
                                 std::vector<std::int64_t>* sizes) {
  Found out;
  for (std::size_t i = 0; i < lowers.size() && i < uppers.size(); ++i) {
    std::int64_t bytes = 0;
    walk(uppers[i].get(), lowers[i] == "/" ? "" : lowers[i], false, 0, out, parted, bytes);
    if (sizes != nullptr) sizes->push_back(bytes);
  }
  sort_changes(out.changes, out.is_whole);
  return std::move(out.changes);
}

std::string Parted::text(const std::string& by) const {
  if (count_ == 0) return {};
  return by + ": its other names keep the former content: " + first_ + and_more(count_ - 1);
}

void sort_changes(std::vector<Change>& changes, bool is_whole) {
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.path < b.path; });
  if (is_whole && changes.size() < kMaxChanges) return;
  changes.resize(std::min(changes.size(), kMaxChanges - 1));
  changes.push_back({"…", "truncated"});
}

}  // namespace sbx
