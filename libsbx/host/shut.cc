// SPDX-License-Identifier: Apache-2.0
// Searched is a directory by the mode that its owner, its group or all others have.
#include "host/shut.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "host/looks.h"

namespace sbx {
namespace {

bool is_shut(const std::string& path, const Owner& owner) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return false;
  // What is wholly the owner's, the sandbox's set-up reaches in spite of its mode.
  if (info.st_uid == owner.uid && info.st_gid == owner.gid) return false;
  const mode_t search = info.st_uid == owner.uid   ? S_IXUSR
                        : info.st_gid == owner.gid ? S_IXGRP
                                                   : S_IXOTH;
  return (info.st_mode & search) == 0;
}

// The directories between `root` and `path`, up to the first that is shut; empty: none is.
std::vector<Node> way_to_shut(const ViewRoot& root, const std::string& path) {
  std::vector<Node> way;
  for (std::size_t at = path.find('/', root.path().size() + 1); at != std::string::npos;
       at = path.find('/', at + 1)) {
    way.push_back(node_at(path.substr(0, at)));
    if (is_shut(way.back().path, *root.owner)) return way;
  }
  return {};
}

bool is_anothers(const ViewRoot* root) {
  return root != nullptr && root->owner && root->access == Access::kReadWrite &&
         root->node.kind == NodeKind::kDirectory;
}

}  // namespace

void protect_shut(View& view) {
  std::vector<ViewProtect> shut;
  const auto look_above = [&](const std::string& path) {
    const auto* const root = deepest_at(view.roots, std::string(parent_of(path)), &ViewRoot::path);
    if (!is_anothers(root)) return;
    std::vector<Node> way = way_to_shut(*root, path);
    if (way.empty()) return;
    Node directory = std::move(way.back());
    way.pop_back();
    shut.push_back({root->path(), std::move(directory), std::move(way)});
  };
  const auto is_hidden = [](const ViewRoot& root) { return root.access == Access::kNone; };
  for (const ViewProtect& protect : view.protects) look_above(protect.node.path);
  for (const ViewRoot& root : view.roots) {
    if (is_hidden(root)) look_above(root.path());
  }
  const auto is_within = [&](const std::string& path) {
    return std::any_of(shut.begin(), shut.end(), [&](const ViewProtect& directory) {
      return is_below(path, directory.node.path);
    });
  };
  std::erase_if(view.protects,
                [&](const ViewProtect& protect) { return is_within(protect.node.path); });
  std::erase_if(view.roots,
                [&](const ViewRoot& root) { return is_hidden(root) && is_within(root.path()); });
  for (ViewProtect& directory : shut) {
    const auto is_it = [&](const ViewProtect& one) { return one.node == directory.node; };
    if (std::none_of(view.protects.begin(), view.protects.end(), is_it)) {
      view.protects.push_back(std::move(directory));
    }
  }
}

}  // namespace sbx
