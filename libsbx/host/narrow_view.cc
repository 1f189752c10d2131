// SPDX-License-Identifier: Apache-2.0
// Only ever takes away.
#include "host/narrow_view.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "base/files.h"
#include "base/system_places.h"
#include "host/looks.h"

namespace sbx {
namespace {

// What the base shows besides without a root, by name: a look is no different for whoever looks
// later.
constexpr std::string_view kOfBase[] = {"/etc", "/var/lib", "/var/cache", "/sys"};

// Made anew inside, whatever the host has there.
bool is_made_anew(std::string_view path) {
  return is_below(path, "/dev") || is_below(path, "/proc");
}

Access shown_by_base(const Policy& policy, std::string_view path) {
  const Base base = policy.sandbox.filesystem.base;
  if (base == Base::kNone) return Access::kNone;
  if (base == Base::kHost) return is_below(path, "/tmp") ? Access::kNone : Access::kReadOnly;
  return is_system_place(path) || is_below_any(path, kOfBase) ? Access::kReadOnly : Access::kNone;
}

const ViewRoot* deepest_root(const View& view, std::string_view path) {
  const ViewRoot* deepest = nullptr;
  for (const ViewRoot& root : view.roots) {
    if (!is_below(path, root.node.path)) continue;
    if (deepest == nullptr || root.node.path.size() >= deepest->node.path.size()) deepest = &root;
  }
  return deepest;
}

Access shown(const Policy& policy, const View& view, std::string_view path) {
  const ViewRoot* root = deepest_root(view, path);
  return root != nullptr ? root->access : shown_by_base(policy, path);
}

void drop_hidden(std::vector<Node>& nodes, const std::vector<PathMaximum>& maxima) {
  std::erase_if(nodes,
                [&](const Node& node) { return most_access(maxima, node.path) == Access::kNone; });
}

void lower_roots(View& view, const std::vector<PathMaximum>& maxima) {
  for (ViewRoot& root : view.roots) {
    // Of git's parts it is not known what lies where: the least counts for all.
    const Access most = root.is_git ? most_access_within(maxima, root.node.path)
                                    : most_access(maxima, root.node.path);
    root.access = std::min(root.access, most);
  }
  for (ViewRoot& root : view.absent) {
    root.access = std::min(root.access, most_access(maxima, root.node.path));
  }
  std::erase_if(view.roots,
                [](const ViewRoot& root) { return root.is_git && root.access == Access::kNone; });
  drop_hidden(view.system, maxima);
  drop_hidden(view.tools, maxima);
  if (most_access(maxima, "/etc") != Access::kNone) return;
  view.etc = {};
  view.etc_own.clear();
  view.etc_private.clear();
}

}  // namespace

void narrow_view(const Policy& policy, View& view) {
  const std::vector<PathMaximum>& maxima = policy.sandbox.maxima;
  if (maxima.empty()) return;
  std::map<std::string, std::pair<Access, std::string>> wanted;  // parents first
  for (const PathMaximum& maximum : maxima) {
    // Nothing is mounted through a symlink: what it leads to has an entry of its own.
    if (is_made_anew(maximum.path) || real_start(maximum.path) != maximum.path) continue;
    const Access most = most_access(maxima, maximum.path);
    wanted[maximum.path] = {std::min(most, shown(policy, view, maximum.path)), maximum.file};
  }
  lower_roots(view, maxima);
  for (const auto& [path, want] : wanted) {
    const auto same = [&at = path](const ViewRoot& root) { return root.node.path == at; };
    const bool is_there = std::any_of(view.roots.begin(), view.roots.end(), same) ||
                          std::any_of(view.absent.begin(), view.absent.end(), same);
    if (is_there || shown(policy, view, path) == want.first) continue;
    ViewRoot narrower{node_at(path), want.first, want.second};
    narrower.is_managed = true;
    if (narrower.node.kind == NodeKind::kMissing) {
      view.absent.push_back(std::move(narrower));
    } else if (narrower.node.kind != NodeKind::kLink) {  // one that leads nowhere
      view.roots.push_back(std::move(narrower));
    }
  }
}

}  // namespace sbx
