// SPDX-License-Identifier: Apache-2.0
// A layer → what it makes of each real file that it touches.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "kept/kept_layer.h"
#include "kept/merged.h"

namespace sbx {

struct Touched {
  BaseRecord base;      // what the real file was when it was first touched
  BaseRecord now;       // what the layer makes of it
  struct stat info {};  // of what the layer holds; nothing where it is removed
  std::string file;     // that holds it, absolute; empty where it is removed
};

using TouchedKey = BaseRecords::Key;  // root, path below it
using TouchedMap = std::map<TouchedKey, Touched>;

// Without what was only copied and not changed: of that, names of files that have several go into
// `linked`. `is_whole` is false where something was too deep to be looked at.
TouchedMap collect_touched(KeptLayer& layer, bool& is_whole, OpenedDirectories* opened = nullptr,
                           TouchedMap* linked = nullptr);

// What somebody else has made in real directories that the layer has removed or replaced goes with
// them: it is added as what is real now and is removed. Its keys.
std::vector<TouchedKey> add_strangers(const LayerState& state, TouchedMap& touched);

// A directory that the layer holds and has not changed.
Touched shown_directory(KeptLayer& layer, const TouchedKey& key);

// Of roots whose own directory has another mode in the layer than really: no commit takes that.
std::vector<std::string> root_warnings(const KeptLayer& layer);

// What the layer holds but directories, removals among it; nothing of that is read.
std::size_t count_files(KeptLayer& layer);

// Whether both say the same of a file, its mode too.
bool is_same_file(const BaseRecord& a, const BaseRecord& b);
// Whether the real file is already what the layer makes of it, so that a commit changes nothing.
bool is_real_already(const Touched& touched, int root, const std::string& path);

// The mode that a commit gives: the real one where the layer has not changed what it first saw.
mode_t mode_to_be(const LayerState& state, const TouchedKey& key, const Touched& touched, int root);

// "created", "modified", "deleted", "replaced"
const char* change_kind(const BaseRecord& from, const BaseRecord& to);
std::string absolute_path(const LayerState& state, const TouchedKey& key);
// A path as git writes it where core.quotePath is false: with what is unseen, a quote or a
// backslash in it within quotes, its bytes in octal.
std::string git_quoted(const std::string& path);
// Opens what the layer holds, even where its owner may not read it. -1 and errno.
OwnedFd open_kept(const Touched& touched);
// How a directory is opened that must not be a symlink.
inline constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string read_link(int dirfd, const std::string& path);
// A symlink with the target and times of another. False and errno.
bool copy_link(int from, const std::string& path, int to, const std::string& name);
// User attributes and times of a file or directory, for another.
void give_attributes(int from, int to);
// The access lists of a file or directory, for another that gets that mode: at no moment may a
// group do more in it than either says. None where `from` is -1. False and errno.
bool give_access(int from, int to, mode_t mode);
// The owner and group of another. False where that cannot be.
bool keep_owner(const struct stat& like, int to);
// What is open gets another name, whatever its own leads to by now. False and errno.
bool link_open(int fd, int to, const std::string& name);
// The layer's roots: closed, where one is reached by a symlink by now.
OwnedFd open_root(const LayerState& state, std::size_t root);
std::vector<OwnedFd> open_roots(const LayerState& state);
// The directory that a path below `root` lies in, never through a symlink, and its name there. -1
// and errno.
OwnedFd open_parent(int root, const std::string& path, std::string& name);

}  // namespace sbx
