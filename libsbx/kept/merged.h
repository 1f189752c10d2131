// SPDX-License-Identifier: Apache-2.0
// Upper directories of overlays, stacked → the entries that they show together. What they hold was
// written from inside: it is walked by descriptor, never through a symlink, and bounded in depth.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/owned_fd.h"

namespace sbx {

struct MergedEntry {
  std::string path;          // relative to the root
  std::size_t level = 0;     // which of the directories shows it
  struct stat info {};       // of the entry itself
  bool is_whiteout = false;  // the real file of that name is removed
  bool is_opaque = false;    // a directory that hides the real one of that name
};

// Opens below `root` without following anything. -1 and errno.
int open_beneath(int root, const std::string& path, int flags, std::uint32_t mode = 0);
// lstat(2) below `root`.
bool stat_beneath(int root, const std::string& path, struct stat& info);
bool is_whiteout(const struct stat& info);

// What the topmost of `levels` that has the path has there; their number where none has, or one
// that was looked at before could not be: errno is then neither ENOENT nor ENOTDIR. Those that a
// directory found there hides are taken out: the path's own directories must have been looked at.
std::size_t find_level(std::vector<OwnedFd>& levels, const std::string& path, struct stat& info);

// Whether one of the directories that `path` lies in is among `those`.
bool lies_below_any(std::string_view path, const std::set<std::string>& those);

// Opens upper directories by path; one that is not there is left out.
std::vector<OwnedFd> open_levels(const std::vector<std::string>& paths);

// Directories that their owner may not enter, opened to be read: closed again at the end.
class OpenedDirectories {
 public:
  OpenedDirectories() = default;
  ~OpenedDirectories() { close(); }
  OpenedDirectories(const OpenedDirectories&) = delete;
  OpenedDirectories& operator=(const OpenedDirectories&) = delete;
  void add(std::string path, mode_t mode) { all_.emplace_back(std::move(path), mode); }
  void close();

 private:
  std::vector<std::pair<std::string, mode_t>> all_;  // absolute; one that lies in another after it
};

// Every entry, a directory before what is in it, names sorted; the topmost of `levels` first.
// `visit` answers whether to go on. False where it was stopped, or a path was too long or too deep
// to be looked at. What is closed is open for the walk, or for as long as `opened` is.
bool walk_merged(const std::vector<OwnedFd>& levels,
                 const std::function<bool(const MergedEntry&)>& visit,
                 OpenedDirectories* opened = nullptr);

}  // namespace sbx
