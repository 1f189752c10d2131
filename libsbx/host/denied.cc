// SPDX-License-Identifier: Apache-2.0
// A small directory is listed once; in a large one, each name is looked up.
#include "host/denied.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/system_places.h"
#include "base/text.h"
#include "guard/names.h"
#include "policy/environment.h"

namespace sbx {
namespace {

// Bytes of a directory with some hundred names: to list more takes longer than to ask for each.
constexpr off_t kSmallDirectory = 4096;

class Search {
 public:
  Search(const Policy& policy, Witnesses* witnesses, View& view)
      : policy_(policy), witnesses_(witnesses), view_(view) {
    for (const std::string_view name : guard::kDeniedCommands) {
      if (!guard::is_pattern(name)) names_.emplace_back(name);
    }
    for (const std::string_view name : guard::kFileSystems)
      names_.push_back("mkfs." + std::string(name));
    for (const std::string& name : policy.sandbox.commands.deny) {
      const std::string base = name.substr(name.rfind('/') + 1);
      if (base.empty() || base == "." || base == "..") continue;
      (guard::is_pattern(base) ? patterns_ : names_).push_back(base);
    }
  }

  void look_in(const std::string& directory) {
    if (!directory.starts_with('/') || is_writable(directory)) return;
    if (std::find(looked_in_.begin(), looked_in_.end(), directory) != looked_in_.end()) return;
    looked_in_.push_back(directory);
    if (witnesses_ != nullptr) witnesses_->entries(directory);
    const OwnedFd fd(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat info {};
    if (!fd.is_open() || fstat(fd.get(), &info) != 0) return note("open", directory);
    const auto known = [&](const std::pair<dev_t, ino_t>& id) {
      return id.first == info.st_dev && id.second == info.st_ino;
    };
    if (std::any_of(seen_.begin(), seen_.end(), known)) return;
    seen_.emplace_back(info.st_dev, info.st_ino);
    const Result<std::string> found = real_path(directory);
    if (!found.ok()) return note("realpath", directory, found.error().sys_errno);
    const std::string& real = found.value();
    if (is_writable(real)) return;
    if (!is_shown(real)) {
      if (policy_.sandbox.filesystem.base == Base::kSystem) {
        view_.hidden_path.push_back(directory);
        if (real != directory) view_.left_out.push_back({directory, real});
      }
      return;
    }
    const std::size_t before = view_.denied.size();
    const bool is_small = info.st_size <= kSmallDirectory;
    const auto is_named = [&](const std::string& name) {
      return std::find(names_.begin(), names_.end(), name) != names_.end();
    };
    const auto is_matched = [&](const std::string& name) {
      return std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
        return guard::matches_name(pattern, name);
      });
    };
    if (!is_small || !list(fd.get(), real, is_named)) {
      for (const std::string& name : names_) add(fd.get(), real, name);
    }
    if (!patterns_.empty()) list(fd.get(), real, is_matched);
    if (view_.denied.size() > before && is_fixed(real)) view_.fixed_directories.push_back(real);
  }

  // The first look that failed: a program that was not found for want of memory would be there to
  // be run.
  Status failure() const { return failure_; }

 private:
  // What may not be searched cannot be executed by a command of the same caller either.
  void note(const char* call, const std::string& path, int error = errno) {
    if (is_missing(error) || error == EACCES || !failure_.ok()) return;
    failure_ = call_failed(ErrorCode::kPathRefused, std::string(call) + "(" + path + ")", path,
                           "whether a denied program is there is not known: run again", error);
  }

  // Whether only root can change the path, the caller being somebody else. The write bit of a group
  // is that of an access control list as well.
  bool is_fixed(const std::string& path) {
    const auto [at, is_new] = fixed_.try_emplace(path, false);
    if (!is_new || geteuid() == 0) return at->second;
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0) return false;
    const bool is_own = info.st_uid == 0 && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    const std::string above = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
    const bool result = is_own && (path == "/" || is_fixed(above));
    fixed_[path] = result;
    return result;
  }

  // Whether the command can put programs there itself: the deepest root that holds the directory
  // may be written to, and the caller may do so. What it can write it also saves, moves and
  // replaces.
  bool is_writable(const std::string& directory) const {
    const Root* deepest = nullptr;
    for (const Root& root : policy_.sandbox.filesystem.roots) {
      const bool holds = is_below(directory, root.path);
      if (holds && (deepest == nullptr || root.path.size() > deepest->path.size())) deepest = &root;
    }
    return deepest != nullptr && deepest->access == Access::kReadWrite &&
           faccessat(AT_FDCWD, directory.c_str(), W_OK, AT_EACCESS) == 0;
  }

  // The caller's PATH may name places that the command never sees.
  bool is_shown(std::string_view directory) const {
    const FilesystemProfile& files = policy_.sandbox.filesystem;
    if (files.base == Base::kHost) return true;
    if (files.home == HomeMode::kHost && is_below(directory, policy_.sandbox.home)) return true;
    if (files.base == Base::kSystem && is_system_place(directory)) return true;
    return std::any_of(files.roots.begin(), files.roots.end(), [&](const Root& root) {
      return root.access != Access::kNone && is_below(directory, root.path);
    });
  }

  void add(int directory, const std::string& real, const std::string& name) {
    struct stat info {};
    if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return note("fstatat", real + "/" + name);
    }
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) return;
    const std::string path = real == "/" ? "/" + name : real + "/" + name;
    if (std::any_of(view_.denied.begin(), view_.denied.end(),
                    [&](const Node& node) { return node.path == path; })) {
      return;
    }
    view_.denied.push_back({path, S_ISLNK(info.st_mode) ? NodeKind::kLink : NodeKind::kFile,
                            info.st_dev, info.st_ino});
  }

  // Adds the entries whose names are wanted. False where it may not be listed, in which names may
  // still be looked up.
  template <typename Wanted>
  bool list(int directory, const std::string& real, Wanted is_wanted) {
    Listing listing(directory, ".");
    if (!listing.is_open()) {
      note("opendir", real);
      return false;
    }
    while (const dirent* const entry = listing.next()) {
      const std::string name = entry->d_name;
      if (is_wanted(name)) add(directory, real, name);
    }
    if (errno != 0) note("readdir", real);
    return true;
  }

  const Policy& policy_;
  Witnesses* const witnesses_;
  View& view_;
  Status failure_;
  std::vector<std::string> names_;
  std::vector<std::string> patterns_;
  std::map<std::string, bool> fixed_;
  std::vector<std::string> looked_in_;         // as they were named
  std::vector<std::pair<dev_t, ino_t>> seen_;  // as what they are
};

}  // namespace

Status find_denied_programs(const Policy& policy, const std::string& search_path,
                            Witnesses* witnesses, View& view) {
  Search search(policy, witnesses, view);
  for (const std::string_view path : {std::string_view(search_path), kSystemPath}) {
    for (const std::string_view directory : split(path, ':')) {
      search.look_in(std::string(directory));
    }
  }
  return search.failure();
}

}  // namespace sbx
