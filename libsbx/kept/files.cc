// SPDX-License-Identifier: Apache-2.0
// What a layer shows at one path, and a request's files → the directory that the layer writes to,
// as the kernel would copy them up: the directories on the way are made there first.
#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/paths.h"
#include "base/system_places.h"
#include "host/globs.h"
#include "host/looks.h"
#include "host_files/user_attributes.h"
#include "host_files/workspace_files.h"
#include "kept/kept_layer.h"
#include "kept/merged.h"
#include "sys/overlay.h"

namespace sbx {

bool is_part_of_another(const ViewRoot& root, const View& places) {
  if (root.path() == "/") return false;
  const ViewRoot* const holder = deepest_at(places.roots, parent_of(root.path()), &ViewRoot::path);
  return holder != nullptr && holder->access == Access::kReadWrite &&
         holder->node.kind == NodeKind::kDirectory && holder->noexec == root.noexec;
}

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
Status KeptLayer::fit(View& view, const Policy& policy) const {
  add_seen_roots(view, policy);
  std::map<std::string_view, ViewRoot*> standing;
  for (ViewRoot& root : view.roots) standing.emplace(root.node.path, &root);
  const auto number_of = [&](std::string_view path) {
    return std::find(state_.roots.begin(), state_.roots.end(), path) - state_.roots.begin();
  };
  const auto end = static_cast<std::ptrdiff_t>(state_.roots.size());
  std::set<std::string> gone;
  for (auto at = standing.begin(); at != standing.end();) {  // each one behind those that hold it
    ViewRoot& place = *at->second;
    const auto above = [&](const auto& is_it) {
      std::string_view path = at->first;
      do path = path.substr(0, path.rfind('/'));
      while (!path.empty() && !is_it(path));
      return path;
    };
    const std::string_view top =
        above([&](std::string_view path) { return number_of(path) != end; });
    const std::string_view holder =
        above([&](std::string_view path) { return standing.contains(path); });
    // What is only read is of the layer wherever it lies, with all that is in it; so is what is
    // written, and has no place of its own there.
    const bool is_own = number_of(place.node.path) != end;
    const bool is_of_layer =
        holder == top || place.access == Access::kReadOnly ||
        (place.access == Access::kReadWrite && !is_own) ||
        (is_below(holder, top) && standing.at(holder)->access == Access::kReadOnly);
    if (top.empty() || !is_of_layer) {
      ++at;
      continue;
    }
    const bool is_part_of_it =
        place.access == Access::kReadWrite && !is_own && is_part_of_another(place, view);
    const std::optional<NodeKind> looked = shown_kind(static_cast<std::size_t>(number_of(top)),
                                                      place.node.path.substr(top.size() + 1));
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
  return hide_new(view);
}

// Those that the run sees as a part of what it is shown: as writable as that.
void KeptLayer::add_seen_roots(View& view, const Policy& policy) const {
  const FilesystemProfile& filesystem = policy.sandbox.filesystem;
  const auto is_private = [&](const std::string& path) {
    const std::string& home = policy.sandbox.home;
    constexpr std::array<std::string_view, 3> kOwn = {"/tmp", "/dev", "/proc"};
    return is_below_any(path, kOwn) ||
           (filesystem.home == HomeMode::kPrivate && !home.empty() && is_below(path, home)) ||
           std::any_of(view.host_masks.begin(), view.host_masks.end(),
                       [&](const Node& mask) { return is_below(path, mask.path); });
  };
  std::vector<ViewRoot> seen;
  for (const std::string& path : state_.roots) {
    const ViewRoot* const holder = deepest_at(view.roots, path, &ViewRoot::path);
    const bool is_of_system =
        filesystem.base == Base::kHost ||
        std::any_of(view.system.begin(), view.system.end(),
                    [&](const Node& node) { return is_below(path, node.path); });
    const bool is_base = holder == nullptr || holder->path() == "/";
    if (holder == nullptr ? !is_of_system : holder->access == Access::kNone) continue;
    if ((is_base && is_private(path)) || (holder != nullptr && holder->path() == path)) continue;
    ViewRoot root = holder == nullptr ? ViewRoot() : *holder;
    root.node = node_at(path);
    root.noexec = root.noexec || lies_on_noexec(path);
    root.owner.reset();
    if (root.node.kind == NodeKind::kDirectory) seen.push_back(std::move(root));
  }
  view.roots.insert(view.roots.end(), seen.begin(), seen.end());
}

// What a run made in its layer it may see; one that may only read has made nothing. A symlink hides
// nothing of its own.
Status KeptLayer::hide_new(View& view) const {
  std::vector<ViewRoot> hidden;
  const auto holder_of = [&](const std::string& path) {
    return deepest_at(view.roots, path, &ViewRoot::path);
  };
  for (std::size_t i = 0; i < state_.roots.size(); ++i) {
    const std::string& top = state_.roots[i];
    // Of the root itself or something narrower that the run may only read.
    const auto is_read = [&](const std::string& path) {
      const ViewRoot* const holder = holder_of(path);
      return holder != nullptr && holder->access == Access::kReadOnly && holder->path() != path &&
             deepest_at(state_.roots, path,
                        [](const std::string& root) -> std::string_view { return root; }) == &top;
    };
    for (const ViewRoot& absent : view.absent) {
      if (absent.access != Access::kNone || absent.path() == top || !is_below(absent.path(), top) ||
          !is_read(absent.path())) {
        continue;
      }
      const NodeKind kind =
          shown_kind(i, absent.path().substr(top.size() + 1)).value_or(NodeKind::kMissing);
      if (kind == NodeKind::kMissing || kind == NodeKind::kLink) continue;
      hidden.push_back(absent);
      hidden.back().node.kind = kind;
    }
    std::vector<std::string> globs;
    for (const View::Pattern& pattern : view.patterns) {
      if (pattern.hides) globs.push_back(whole_glob(pattern.glob.base, pattern.glob.pattern));
    }
    if (globs.empty()) continue;
    std::size_t count = 0;
    walk_merged(open_levels(levels(i)), [&](const MergedEntry& entry) {
      const std::string path = top + "/" + entry.path;
      if (entry.is_whiteout || S_ISLNK(entry.info.st_mode) || !any_glob_holds(globs, path) ||
          any_glob_holds(globs, parent_of(path)) || !is_read(path)) {
        return true;
      }
      hidden.push_back({Node{path, node_kind(entry.info.st_mode), 0, 0}, Access::kNone, ""});
      return ++count <= kMaxGlobMatches;
    });
    if (count > kMaxGlobMatches) {
      return Error{ErrorCode::kPathRefused,
                   "in the layer too much of " + top + " is to be hidden by a pattern",
                   "/filesystem/roots", "hide a directory, or leave the layer out"};
    }
  }
  view.roots.insert(view.roots.end(), hidden.begin(), hidden.end());
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
  const ViewRoot* const holder = deepest_at(places.roots, state_.workspace, &ViewRoot::path);
  const bool is_written = holder != nullptr && holder->access == Access::kReadWrite;
  View inside = places;
  for (ViewRoot& place : inside.roots) place.owner.reset();  // what is in a layer is the caller's
  for (const RequestFile& file : files) {
    SBX_TRY(const std::string path, normal_path(file.path, state_.workspace, "/files"));
    if (is_copy || !is_written || !is_below(path, state_.workspace) || path == state_.workspace)
      continue;
    SBX_CHECK_OK(make_way(root, path.substr(state_.workspace.size() + 1)));
  }
  return write_workspace_files(state_.workspace, files, inside, file_bytes, target);
}

}  // namespace sbx
