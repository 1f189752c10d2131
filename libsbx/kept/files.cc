// SPDX-License-Identifier: Apache-2.0
// What a layer shows at one path, and a request's files → the directory that the layer writes to,
// as the kernel would copy them up: the directories on the way are made there first.
#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "host/looks.h"
#include "host_files/user_attributes.h"
#include "host_files/workspace_files.h"
#include "kept/kept_layer.h"
#include "kept/merged.h"
#include "sys/overlay.h"

namespace sbx {

// Nothing: it cannot be looked at. A command may have closed the directory, and a later one may
// open it again.
std::optional<NodeKind> KeptLayer::shown_kind(std::size_t root, const std::string& path) const {
  std::vector<OwnedFd> levels = open_levels(this->levels(root));
  if (state_.kind == KeptKind::kOverlay) {
    levels.emplace_back(
        ::open(state_.roots[root].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  for (std::size_t at = path.find('/');; at = path.find('/', at + 1)) {
    struct stat shown {};
    const std::size_t level = find_level(levels, path.substr(0, at), shown);
    if (level == levels.size() && !is_missing(errno)) return std::nullopt;
    if (level == levels.size() || is_whiteout(shown)) return NodeKind::kMissing;
    if (at == std::string::npos) return node_kind(shown.st_mode);
    if (!S_ISDIR(shown.st_mode)) return NodeKind::kMissing;
  }
}

// Of the host's it may show nothing any more, or not yet, where it is a copy; or something else, a
// symlink among that, which a mount would follow. What lies in another narrower root is shown by
// that one.
Status KeptLayer::fit(View& view) const {
  std::map<std::string_view, ViewRoot*> standing;
  for (ViewRoot& root : view.roots) standing.emplace(root.node.path, &root);
  const auto number_of = [&](std::string_view path) {
    return std::find(state_.roots.begin(), state_.roots.end(), path) - state_.roots.begin();
  };
  const auto end = static_cast<std::ptrdiff_t>(state_.roots.size());
  std::set<std::string> gone;
  for (auto at = standing.begin(); at != standing.end();) {  // each one behind those that hold it
    ViewRoot& place = *at->second;
    std::string_view holder = at->first;
    do holder = holder.substr(0, holder.rfind('/'));
    while (!holder.empty() && !standing.contains(holder));
    const std::ptrdiff_t root = number_of(holder);
    if (root == end) {
      ++at;
      continue;
    }
    const bool is_part_of_it =
        place.access == Access::kReadWrite && number_of(place.node.path) == end;
    const std::optional<NodeKind> looked =
        shown_kind(static_cast<std::size_t>(root), place.node.path.substr(holder.size() + 1));
    const NodeKind kind = looked.value_or(place.node.kind);
    const bool is_missing = kind == NodeKind::kMissing && place.access != Access::kReadWrite;
    if (is_part_of_it || is_missing) {
      gone.insert(place.node.path);
      at = standing.erase(at);
      continue;
    }
    const bool was_directory = place.node.kind == NodeKind::kDirectory;
    const bool is_other = kind == NodeKind::kMissing || kind == NodeKind::kLink ||
                          was_directory != (kind == NodeKind::kDirectory);
    if (is_other && place.access != Access::kNone) {
      return Error{ErrorCode::kPathRefused,
                   "the layer shows " +
                       std::string(kind == NodeKind::kMissing ? "nothing"
                                   : kind == NodeKind::kLink  ? "a symlink"
                                                              : "something else") +
                       " at " + place.node.path + ", which is to be a root",
                   place.where,
                   "sbx-run layer discard NAME PATH takes that back, or leave the root out"};
    }
    if (is_other) place.node.kind = kind;
    ++at;
  }
  std::erase_if(view.roots, [&](const ViewRoot& root) { return gone.contains(root.node.path); });
  return {};
}

// What the layer shows under each part of the path must be a directory, or nothing.
Status KeptLayer::make_way(std::size_t root, const std::string& path) {
  std::vector<OwnedFd> levels = open_levels(this->levels(root));
  levels.emplace_back(
      ::open(state_.roots[root].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::string upper = store_.part(state_.stack.back(), root) + "/upper/";
  for (std::size_t at = path.find('/');; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    struct stat shown {};
    const std::size_t level = find_level(levels, part, shown);
    const bool is_gone = level == levels.size() || is_whiteout(shown);
    if (at == std::string::npos) {
      if (!is_gone && !S_ISREG(shown.st_mode)) {
        return Error{ErrorCode::kPathRefused, "in the layer it is no regular file: " + part,
                     "/files", "name another path", EEXIST};
      }
      if (level == 0 && is_gone && unlink((upper + part).c_str()) != 0) {
        return layer_failure("unlink(" + part + ")", errno);
      }
      return {};
    }
    if (is_gone) {
      if (level == 0) unlink((upper + part).c_str());
      if (mkdir((upper + part).c_str(), 0755) != 0 ||
          setxattr((upper + part).c_str(), sys::kOverlayOpaque, "y", 1, 0) != 0) {
        return layer_failure("mkdir(" + part + ")", errno);
      }
      // Nothing below shows through it.
      levels.resize(1);
    } else if (!S_ISDIR(shown.st_mode)) {
      return Error{ErrorCode::kPathRefused, "the layer has no directory " + part, "/files",
                   "name a path through directories only", ENOTDIR};
    } else if (level > 0) {
      if (mkdir((upper + part).c_str(), 0700) != 0) {
        return layer_failure("mkdir(" + part + ")", errno);
      }
      constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
      const OwnedFd made(::open((upper + part).c_str(), kFlags));
      const OwnedFd source(open_beneath(levels[level].get(), part, kFlags));
      if (source.is_open()) copy_user_attributes(source.get(), made.get());
      if (fchmod(made.get(), shown.st_mode & 0777) != 0) {
        return layer_failure("chmod(" + part + ")", errno);
      }
    }
  }
}

Status KeptLayer::write_files(const std::vector<RequestFile>& files, const View& places,
                              std::optional<std::int64_t> file_bytes) {
  const auto found = std::find(state_.roots.begin(), state_.roots.end(), state_.workspace);
  if (found == state_.roots.end()) {
    return Error{ErrorCode::kNotGranted, "the workspace is no writable root of the layer", "/files",
                 ""};
  }
  const auto root = static_cast<std::size_t>(found - state_.roots.begin());
  const bool is_copy = state_.kind == KeptKind::kCopy;
  const std::string target =
      store_.part(state_.stack.back(), root) + (is_copy ? "/tree" : "/upper");
  View inside = places;
  for (ViewRoot& place : inside.roots) place.owner.reset();  // what is in a layer is the caller's
  for (const RequestFile& file : files) {
    SBX_TRY(const std::string path, normal_path(file.path, state_.workspace, "/files"));
    if (is_copy || !is_below(path, state_.workspace) || path == state_.workspace) continue;
    SBX_CHECK_OK(make_way(root, path.substr(state_.workspace.size() + 1)));
  }
  return write_workspace_files(state_.workspace, files, inside, file_bytes, target);
}

}  // namespace sbx
