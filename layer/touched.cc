// SPDX-License-Identifier: Apache-2.0
// Both kinds of layer, told by their directories and records.
#include "touched.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <set>

#include "base/by_number.h"
#include "base/files.h"
#include "base/text.h"
#include "base/utf8.h"
#include "host_files/user_attributes.h"
#include "kept/copy.h"
#include "kept/merged.h"

namespace sbx {
namespace {

bool is_linked(const struct stat& info) { return S_ISREG(info.st_mode) && info.st_nlink > 1; }

class Collector {
 public:
  Collector(KeptLayer& layer, OpenedDirectories* opened, TouchedMap& out, TouchedMap* linked)
      : layer_(layer),
        opened_(opened),
        base_(layer.base()),
        is_copy_(layer.state().kind == KeptKind::kCopy),
        out_(out),
        linked_(linked) {}

  bool collect(std::size_t root) {
    const std::vector<std::string> paths = layer_.levels(root);
    std::vector<OwnedFd> levels;
    std::vector<std::string> names;
    for (const std::string& path : paths) {
      OwnedFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!fd.is_open()) continue;
      levels.push_back(std::move(fd));
      names.push_back(path);
    }
    shown_.clear();
    gone_.clear();
    const auto visit = [&](const MergedEntry& entry) {
      take(root, entry, levels[entry.level].get(), names[entry.level]);
      return true;
    };
    const bool is_whole = walk_merged(levels, visit, opened_);
    take_hidden(root);
    return is_whole;
  }

 private:
  void take(std::size_t root, const MergedEntry& entry, int level, const std::string& level_name) {
    shown_.insert(entry.path);
    const BaseRecord* const known = base_.find(root, entry.path);
    Touched touched;
    if (known != nullptr) touched.base = *known;
    if (is_copy_ && known != nullptr && known->stamp == nanoseconds(entry.info.st_ctim)) {
      if (linked_ == nullptr || !is_linked(entry.info)) return;
      // Other names may be new: a directory takes them along, and the file's time stays.
      touched.now = *known;
      touched.info = entry.info;
      touched.file = level_name + "/" + entry.path;
      linked_->emplace(TouchedKey{root, entry.path}, std::move(touched));
      return;
    }
    if (entry.is_whiteout) {
      gone_.insert(entry.path);
    } else {
      touched.info = entry.info;
      touched.file = level_name + "/" + entry.path;
      if (S_ISREG(entry.info.st_mode) && (entry.info.st_mode & 0400) == 0) {
        touched.now.kind = BaseRecord::kFile;
        touched.now.mode = entry.info.st_mode & 07777;
        const OwnedFd file = open_kept(touched);
        if (file.is_open()) touched.now.digest = digest_of(file.get());
      } else {
        touched.now = look_at_real(level, entry.path);
        // It may be open for the walk.
        if (S_ISDIR(entry.info.st_mode)) touched.now.mode = entry.info.st_mode & 07777;
      }
      if (!S_ISDIR(entry.info.st_mode) || entry.is_opaque) gone_.insert(entry.path);
    }
    add(root, entry.path, std::move(touched));
  }

  // What lies in a real directory that was removed or replaced; in a copy, what is not there.
  void take_hidden(std::size_t root) {
    for (const auto& [key, record] : base_.all()) {
      if (key.first != root || shown_.contains(key.second)) continue;
      if (record.kind == BaseRecord::kAbsent) continue;
      if (!is_copy_ && !lies_below_any(key.second, gone_)) continue;
      Touched touched;
      touched.base = record;
      add(root, key.second, std::move(touched));
    }
  }

  void add(std::size_t root, const std::string& path, Touched touched) {
    const bool is_same = is_same_file(touched.base, touched.now);
    if (is_same && (linked_ == nullptr || !is_linked(touched.info))) return;
    (is_same ? *linked_ : out_).emplace(TouchedKey{root, path}, std::move(touched));
  }

  KeptLayer& layer_;
  OpenedDirectories* const opened_;
  const BaseRecords& base_;
  bool is_copy_;
  TouchedMap& out_;
  TouchedMap* const linked_;
  std::set<std::string> shown_;
  std::set<std::string> gone_;  // below which nothing real shows
};

constexpr const char* kAccessList = "system.posix_acl_access";

}  // namespace

TouchedMap collect_touched(KeptLayer& layer, bool& is_whole, OpenedDirectories* opened,
                           TouchedMap* linked) {
  TouchedMap out;
  is_whole = true;
  Collector collector(layer, opened, out, linked);
  for (std::size_t i = 0; i < layer.state().roots.size(); ++i) {
    if (!collector.collect(i)) is_whole = false;
  }
  return out;
}

std::vector<TouchedKey> add_strangers(const LayerState& state, TouchedMap& touched) {
  const std::vector<OwnedFd> roots = open_roots(state);
  std::vector<TouchedKey> directories;
  for (const auto& [key, its] : touched) {
    if (its.now.kind != BaseRecord::kDirectory) directories.push_back(key);
  }
  std::vector<TouchedKey> added;
  while (!directories.empty()) {
    const TouchedKey key = std::move(directories.back());
    directories.pop_back();
    const int root = roots[key.first].get();
    const OwnedFd fd(open_beneath(root, key.second, kDirectoryFlags));
    Listing listing = fd.is_open() ? Listing(fd.get(), ".") : Listing();
    while (const dirent* entry = listing.is_open() ? listing.next() : nullptr) {
      TouchedKey child{key.first, key.second + "/" + entry->d_name};
      if (touched.contains(child)) continue;
      Touched stranger;
      stranger.base = look_at_real(root, child.second);
      touched.emplace(child, std::move(stranger));
      added.push_back(child);
      directories.push_back(std::move(child));
    }
  }
  return added;
}

Touched shown_directory(KeptLayer& layer, const TouchedKey& key) {
  Touched out;
  const BaseRecord* const known = layer.base().find(key.first, key.second);
  if (known != nullptr) out.base = *known;
  for (const std::string& level : layer.levels(key.first)) {
    const OwnedFd fd(open(level.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!stat_beneath(fd.get(), key.second, out.info)) continue;
    out.now = look_at_real(fd.get(), key.second);
    out.file = level + "/" + key.second;
    break;
  }
  return out;
}

std::vector<std::string> root_warnings(const KeptLayer& layer) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < layer.state().roots.size(); ++i) {
    struct stat own {};
    struct stat real {};
    const std::vector<std::string> levels = layer.levels(i);
    const OwnedFd root = open_root(layer.state(), i);
    if (!root.is_open() || fstat(root.get(), &real) != 0 || levels.empty() ||
        stat(levels[0].c_str(), &own) != 0 || ((own.st_mode ^ real.st_mode) & 0777) == 0) {
      continue;
    }
    char mode[8];
    snprintf(mode, sizeof mode, "%o", own.st_mode & 0777);
    out.push_back("the mode of the root itself, " + std::string(mode) +
                  " in the layer, is not committed: " + repair_utf8(layer.state().roots[i]));
  }
  return out;
}

std::size_t count_files(KeptLayer& layer) {
  const bool is_copy = layer.state().kind == KeptKind::kCopy;
  std::size_t count = 0;
  std::size_t known = 0;  // in a copy, of what it was made of
  for (std::size_t i = 0; i < layer.state().roots.size(); ++i) {
    walk_merged(open_levels(layer.levels(i)), [&](const MergedEntry& entry) {
      const BaseRecord* const was = is_copy ? layer.base().find(i, entry.path) : nullptr;
      if (was != nullptr && was->kind != BaseRecord::kAbsent) ++known;
      const bool is_same = was != nullptr && was->stamp == nanoseconds(entry.info.st_ctim);
      if (!is_same && !S_ISDIR(entry.info.st_mode)) ++count;
      return true;
    });
  }
  if (!is_copy) return count;
  const auto& all = layer.base().all();
  const auto were =
      static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& row) {
        return row.second.kind != BaseRecord::kAbsent;
      }));
  return count + (were - known);
}

bool is_same_file(const BaseRecord& a, const BaseRecord& b) {
  if (a.kind == BaseRecord::kAbsent && b.kind == BaseRecord::kAbsent) return true;
  return is_same_content(a, b) && (a.mode & 0777) == (b.mode & 0777);
}

bool is_real_already(const Touched& touched, int root, const std::string& path) {
  struct stat real {};
  // Most files are told by their size, and not read.
  if (touched.now.kind == BaseRecord::kFile &&
      (!stat_beneath(root, path, real) || real.st_size != touched.info.st_size)) {
    return false;
  }
  return is_same_file(touched.now, look_at_real(root, path));
}

mode_t mode_to_be(const LayerState& state, const TouchedKey& key, const Touched& touched,
                  int root) {
  const mode_t own = touched.now.mode & 0777;
  const OwnedFd real(open_beneath(root, key.second, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (touched.base.kind != touched.now.kind || (touched.base.mode & 0777) != own ||
      !real.is_open() || fstat(real.get(), &info) != 0 ||
      ((info.st_mode ^ touched.info.st_mode) & S_IFMT) != 0) {
    return own;
  }
  // Of an access list that goes, the mode's group bits were the mask: they are nobody's without it.
  const bool loses_list = state.kind == KeptKind::kOverlay &&
                          getxattr(by_number(real.get()).c_str(), kAccessList, nullptr, 0) >= 0 &&
                          lgetxattr(touched.file.c_str(), kAccessList, nullptr, 0) < 0;
  return loses_list ? own : info.st_mode & 0777;
}

const char* change_kind(const BaseRecord& from, const BaseRecord& to) {
  if (to.kind == BaseRecord::kAbsent) return "deleted";
  if (from.kind == BaseRecord::kAbsent) return "created";
  return from.kind == to.kind || from.kind == BaseRecord::kUnknown ? "modified" : "replaced";
}

std::string absolute_path(const LayerState& state, const TouchedKey& key) {
  return state.roots.at(key.first) + "/" + key.second;
}

std::string git_quoted(const std::string& path) {
  if (escape_control_bytes(path) == path && path.find_first_of("\"\\") == path.npos) return path;
  std::string out = "\"";
  for (const char c : path) {
    constexpr std::string_view kLettered = "\a\b\t\n\v\f\r";
    const std::size_t letter = kLettered.find(c);
    if (c == '"' || c == '\\' || letter != kLettered.npos) out += '\\';
    if ((c >= ' ' && c <= '~') || letter != kLettered.npos) {
      out += letter == kLettered.npos ? c : "abtnvfr"[letter];
      continue;
    }
    std::array<char, 5> octal{};
    snprintf(octal.data(), octal.size(), "\\%03o", static_cast<unsigned>(c) & 0xff);
    out += octal.data();
  }
  return out + '"';
}

OwnedFd open_kept(const Touched& touched) { return open_own(AT_FDCWD, touched.file); }

std::string read_link(int dirfd, const std::string& path) {
  std::array<char, 4097> target{};
  const ssize_t size = readlinkat(dirfd, path.c_str(), target.data(), target.size());
  return size < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(size));
}

bool copy_link(int from, const std::string& path, int to, const std::string& name) {
  struct stat info {};
  if (fstatat(from, path.c_str(), &info, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0 ||
      symlinkat(read_link(from, path).c_str(), to, name.c_str()) != 0) {
    return false;
  }
  const struct timespec times[2] = {info.st_atim, info.st_mtim};
  utimensat(to, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  return true;
}

void give_attributes(int from, int to) {
  struct stat info {};
  copy_user_attributes(from, to);
  if (fstat(from, &info) != 0) return;
  const struct timespec times[2] = {info.st_atim, info.st_mtim};
  futimens(to, times);
}

bool give_access(int from, int to, mode_t mode) {
  constexpr const char* kLists[] = {kAccessList, "system.posix_acl_default"};
  const std::string source = by_number(from);
  const std::string target = by_number(to);
  std::string list(XATTR_SIZE_MAX, '\0');
  const auto size_of = [&](const std::string& path, const char* name) {
    return getxattr(path.c_str(), name, list.data(), list.size());
  };
  for (const char* const name : kLists) {
    const ssize_t size = from < 0 ? -1 : size_of(source, name);
    if (size >= 0 &&
        setxattr(target.c_str(), name, list.data(), static_cast<std::size_t>(size), 0) != 0) {
      return false;
    }
  }
  if (chmod(target.c_str(), mode) != 0) return false;
  for (const char* const name : kLists) {
    if (from >= 0 && size_of(source, name) < 0 && size_of(target, name) >= 0 &&
        removexattr(target.c_str(), name) != 0) {
      return false;
    }
  }
  return true;
}

bool keep_owner(const struct stat& like, int to) {
  struct stat is {};
  (void)!fchown(to, static_cast<uid_t>(-1), like.st_gid);
  (void)!fchown(to, like.st_uid, static_cast<gid_t>(-1));
  return fstat(to, &is) == 0 && is.st_uid == like.st_uid && is.st_gid == like.st_gid;
}

bool link_open(int fd, int to, const std::string& name) {
  return linkat(AT_FDCWD, by_number(fd).c_str(), to, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

OwnedFd open_root(const LayerState& state, std::size_t root) {
  const OwnedFd top(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return OwnedFd(
      open_beneath(top.get(), "." + state.roots.at(root), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

std::vector<OwnedFd> open_roots(const LayerState& state) {
  std::vector<OwnedFd> roots;
  for (std::size_t i = 0; i < state.roots.size(); ++i) roots.push_back(open_root(state, i));
  return roots;
}

OwnedFd open_parent(int root, const std::string& path, std::string& name) {
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
  name = slash == std::string::npos ? path : path.substr(slash + 1);
  return OwnedFd(open_beneath(root, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace sbx
