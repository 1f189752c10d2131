// SPDX-License-Identifier: Apache-2.0
// One pass over the view for each kind of thing that is shown, hidden or held.
#include "plan/placements.h"

#include <algorithm>

#include "plan/builder.h"
#include "policy/http.h"

namespace sbx {

Status Placements::collect(LaunchPlan& plan) {
  placements_.reserve(64 + view_.denied.size());
  for (const ViewRoot& root : view_.roots) {
    if (root.node.path == "/") host_root_ = &root;
  }
  if (filesystem().base == Base::kHost || host_root_ != nullptr) {
    has_host_root_ = true;
    for (const Node& node : view_.host_masks) {
      placements_.push_back(
          {node.path, PlacementKind::kInside, {}, "proc/void", kMaskAttributes, true, ""});
    }
    placements_.push_back({"/dev",
                           PlacementKind::kInside,
                           {},
                           "proc/dev",
                           kWritableAttributes & ~sys::kMountAttrNodev,
                           true,
                           ""});
  }
  if (!has_host_root_) collect_base();
  if (has_host_root_) cover_etc();  // with the bundle alone, where there is one
  if (tmp_is_writable()) {
    inside("/tmp", "proc/tmp", "private");
  } else if (has_host_root_) {
    placements_.push_back(
        {"/tmp", PlacementKind::kInside, {}, "proc/tmp", kReadOnlyAttributes, true, "empty"});
  }
  placements_.push_back({"/dev/shm",
                         PlacementKind::kInside,
                         {},
                         "proc/shm",
                         tmp_is_writable() ? kWritableAttributes : kReadOnlyAttributes,
                         true,
                         ""});
  collect_home(plan.home);
  for (const ViewRoot& root : view_.roots) {
    if (root.node.path != "/") collect_root(root);
  }
  for (const ViewRoot& root : view_.roots) hold_parents(root);
  if (!filesystem().overlay) {  // with one, nothing reaches the host
    for (const ViewProtect& protect : view_.protects) collect_protect(protect, plan);
    for (const ViewProtect& protect : view_.protects) hold_parents(protect);
  }
  collect_denied(plan);
  if (filesystem().base == Base::kTools) forbid_execution();
  sort(plan);
  if (!input_.request.started_in.empty()) SBX_CHECK_OK(check_cwd(input_.request.started_in));
  return check_cwd(plan.cwd);
}

// Whatever name a command makes up at run time, there is nothing to be executed there.
void Placements::collect_denied(LaunchPlan& plan) {
  for (const Node& node : view_.denied) {
    if (!is_shown(node.path) || !is_from_the_host(node.path)) continue;
    placements_.push_back({node.path, PlacementKind::kCover, node, std::string(kNothing),
                           kMaskAttributes, false, ""});
    plan.denied_programs.push_back(node.path);
  }
}

// Whether the deepest placement above the path is a directory of the host's.
bool Placements::is_from_the_host(std::string_view path) const {
  const Placement* const deepest = deepest_at(placements_, path, &Placement::path);
  if (deepest == nullptr) return has_host_root_;
  return deepest->path != path &&
         (deepest->kind == PlacementKind::kBind || deepest->kind == PlacementKind::kOverlay);
}

// Only the listed programs and what they load: nothing that the command or a root brings along.
void Placements::forbid_execution() {
  for (Placement& p : placements_) {
    const bool is_tool = std::any_of(view_.tools.begin(), view_.tools.end(),
                                     [&](const Node& node) { return node.path == p.path; });
    if (!is_tool || root_at(p.path) != nullptr) p.attributes |= sys::kMountAttrNoexec;
  }
}
const ViewRoot* Placements::root_at(std::string_view path) const {
  for (const ViewRoot& root : view_.roots) {
    if (root.node.path == path) return &root;
  }
  return nullptr;
}

void Placements::collect_base() {
  for (const Node& node : view_.system) bind_system(node, "ro");
  for (const Node& node : view_.tools) {
    // A directory of PATH may be the user's own.
    if (is_below(node.path, "/usr") && !is_below(node.path, "/usr/local")) {
      bind_system(node, "ro");
    } else {
      bind(node, kReadOnlyAttributes, "ro");
    }
  }
  collect_etc();
}

// The host's, with files of our own and masks over it. A root of the profile shows what it names.
void Placements::collect_etc() {
  if (view_.etc.kind == NodeKind::kMissing || root_at(view_.etc.path) != nullptr) return;
  bind_system(view_.etc, "ro");
  placements_.back().is_unowned = view_.etc_map.is_made();
  cover_etc();
  for (const Node& node : view_.etc_private) {
    const bool is_shown =
        std::any_of(view_.roots.begin(), view_.roots.end(), [&](const ViewRoot& root) {
          return root.access != Access::kNone && is_below(node.path, root.node.path);
        });
    if (is_shown) continue;
    if (node.kind != NodeKind::kDirectory) {
      placements_.push_back({node.path, PlacementKind::kCover, node, std::string(kNothing),
                             kMaskAttributes, false, "", true});
    } else {
      placements_.push_back(
          {node.path, PlacementKind::kMask, {}, "proc/empty", kMaskAttributes, true, "", true});
    }
  }
}

// With files of our own.
void Placements::cover_etc() {
  const auto* const http = input_.policy.sandbox.http.get();
  for (const Node& node : view_.etc_own) {
    if (has_host_root_ && (http == nullptr || node.path != http->trust_path)) continue;
    placements_.push_back({node.path, PlacementKind::kCover, node,
                           std::string(kOwnEtc) + node.path.substr(node.path.rfind('/')),
                           kMaskAttributes, false, "", true});
  }
}

void Placements::bind(const Node& node, std::uint64_t attributes, std::string_view shown_as) {
  placements_.push_back({node.path, PlacementKind::kBind, node, "", attributes,
                         node.kind == NodeKind::kDirectory, std::string(shown_as)});
}
// Without an inode to compare: only root can change what is there.
void Placements::bind_system(Node node, std::string_view shown_as) {
  node.ino = 0;
  bind(node, kReadOnlyAttributes, shown_as);
}
void Placements::inside(std::string_view path, std::string_view source, std::string_view shown_as) {
  placements_.push_back({std::string(path),
                         PlacementKind::kInside,
                         {},
                         std::string(source),
                         kWritableAttributes,
                         true,
                         std::string(shown_as)});
}

void Placements::collect_home(std::string_view chosen) {
  const std::string& home = input_.policy.sandbox.home;
  if (home.empty() || filesystem().home != HomeMode::kPrivate) return;
  if (chosen != home) return;  // no place to mount it on: HOME is /tmp
  for (const auto& [path, node] : view_.caches) {
    bind(node, kWritableAttributes, "cache");
    placements_.back().path = path;
  }
  if (tmp_is_writable()) {
    inside(home, "proc/home", "private");
  } else {
    placements_.push_back(
        {home, PlacementKind::kInside, {}, "proc/home", kReadOnlyAttributes, true, "empty"});
  }
}

void Placements::collect_root(const ViewRoot& root) {
  // What nothing of the host's shows needs no mask: a private /tmp or home stays.
  if (root.access == Access::kNone && !is_shown(root.node.path)) return;
  // A root replaces whatever else was to stand at the same place.
  std::erase_if(placements_, [&](const Placement& p) { return p.path == root.node.path; });
  const bool is_directory = root.node.kind == NodeKind::kDirectory;
  switch (root.access) {
    case Access::kNone:
      placements_.push_back({root.node.path,
                             PlacementKind::kMask,
                             {},
                             is_directory ? "proc/empty" : "proc/nofile",
                             kMaskAttributes,
                             is_directory,
                             "none"});
      return;
    case Access::kReadOnly:
      bind(root.node, kReadOnlyAttributes | exec_attribute(root.node.path), "ro");
      return;
    case Access::kReadWrite:
      bind(root.node, kWritableAttributes | exec_attribute(root.node.path), "rw");
      if (filesystem().overlay && is_directory) lay_over(placements_.back());
      return;
  }
}

// Its writes go elsewhere: to the scratch space, or to a layer that is kept.
void Placements::lay_over(Placement& placement) {
  placement.kind = PlacementKind::kOverlay;
  placement.shown_as = "overlay";
  for (const ViewLayer::Part& part : view_.layer.parts) {
    if (part.root != placement.path) continue;
    placement.kept = &part;
    placement.shown_as = part.copy.empty() ? "layer" : "layer (copy)";
    if (part.copy.empty()) return;
    placement.kind = PlacementKind::kBind;
    placement.source = Node{part.copy, NodeKind::kDirectory, 0, 0};
  }
}

// What the deepest root that holds `path` says of executing.
std::uint64_t Placements::exec_attribute(std::string_view path) const {
  const ViewRoot* deepest = nullptr;
  for (const ViewRoot& root : view_.roots) {
    if (!is_below(path, root.node.path)) continue;
    if (deepest == nullptr || is_below(root.node.path, deepest->node.path)) deepest = &root;
  }
  return deepest != nullptr && deepest->noexec ? sys::kMountAttrNoexec : 0;
}

// A narrower root within a writable one: the directories on the way to it become mount points of
// their own, which rename(2) refuses to move. Moved away, the root would not be found, or would
// stand open under another name, in the next run.
void Placements::hold_parents(const ViewRoot& root) {
  if (filesystem().overlay) return;
  const ViewRoot* holder = nullptr;
  for (const ViewRoot& other : view_.roots) {
    const bool above =
        other.node.path != root.node.path && is_below(root.node.path, other.node.path);
    if (above && (holder == nullptr || is_below(other.node.path, holder->node.path))) {
      holder = &other;
    }
  }
  if (holder == nullptr || holder->access != Access::kReadWrite) return;
  if (root.access == Access::kReadWrite && (!root.noexec || holder->noexec)) return;
  const std::string& path = root.node.path;
  for (std::size_t at = path.find('/', holder->node.path.size() + 1); at != std::string::npos;
       at = path.find('/', at + 1)) {
    const std::string parent = path.substr(0, at);
    // What is our own is gone with the run.
    if (!has(parent) && is_from_the_host(parent)) {
      bind(Node{parent, NodeKind::kDirectory, 0, 0}, kWritableAttributes | exec_attribute(parent),
           "");
    }
  }
}

// A path that nothing shows needs no mask, and a mask would make it exist.
bool Placements::is_shown(std::string_view path) const {
  if (has_host_root_) return true;
  const auto holds = [&](const std::string& shown) { return is_below(path, shown); };
  return std::any_of(view_.system.begin(), view_.system.end(),
                     [&](const Node& node) { return holds(node.path); }) ||
         std::any_of(view_.tools.begin(), view_.tools.end(),
                     [&](const Node& node) { return holds(node.path); }) ||
         (view_.etc.kind != NodeKind::kMissing && holds(view_.etc.path)) ||
         std::any_of(view_.roots.begin(), view_.roots.end(), [&](const ViewRoot& root) {
           return root.access != Access::kNone && holds(root.node.path);
         });
}

// A protected path cannot be written, and its parents are mount points of their own: rename(2),
// rmdir(2) and RENAME_EXCHANGE on a mount point give EBUSY.
void Placements::collect_protect(const ViewProtect& protect, LaunchPlan& plan) {
  if (!protect.mask && is_in_protected(protect.node.path, protect)) return;
  if (protect.mask) {
    if (has(protect.node.path)) return;
    placements_.push_back({protect.node.path,
                           PlacementKind::kMask,
                           {},
                           "proc/nofile",
                           kMaskAttributes,
                           false,
                           "protected"});
    return;
  }
  if (protect.node.kind != NodeKind::kMissing) {
    if (!has(protect.node.path))
      bind(protect.node, kReadOnlyAttributes | exec_attribute(protect.node.path), "protected");
    return;
  }
  if (protect.report_missing) {
    plan.report_created.push_back(protect);
    return;
  }
  if (has(protect.node.path)) return;
  plan.stubs.push_back(protect.node.path);
  placements_.push_back({protect.node.path,
                         PlacementKind::kMask,
                         {},
                         std::string(kAbsent),
                         kMaskAttributes,
                         true,
                         "protected"});
}

// Only when all that is protected has its place: a directory may be both.
void Placements::hold_parents(const ViewProtect& protect) {
  for (const Node& parent : protect.parents) {
    if (has(parent.path) || is_in_protected(parent.path, protect)) continue;
    bind(parent, kWritableAttributes | exec_attribute(parent.path), "");
  }
}

// Whether a protected directory, read-only as a whole, holds the path, and no root of its own does
// so further down.
bool Placements::is_in_protected(std::string_view path, const ViewProtect& protect) const {
  return std::any_of(view_.protects.begin(), view_.protects.end(), [&](const ViewProtect& other) {
    return other.node.kind == NodeKind::kDirectory && other.node.path != path &&
           is_below(path, other.node.path) && !is_below(protect.root, other.node.path);
  });
}

bool Placements::has(std::string_view path) const {
  return std::any_of(placements_.begin(), placements_.end(),
                     [&](const Placement& p) { return p.path == path; });
}

void Placements::sort(LaunchPlan& plan) {
  // '/' sorts before every other byte here, so that a directory comes before what lies in it.
  const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
  std::vector<Placement*> order;
  order.reserve(placements_.size());
  for (Placement& p : placements_) order.push_back(&p);
  std::stable_sort(order.begin(), order.end(), [&](const Placement* a, const Placement* b) {
    const auto [x, y] =
        std::mismatch(a->path.begin(), a->path.end(), b->path.begin(), b->path.end());
    if (x == a->path.end() || y == b->path.end()) return y != b->path.end();
    return rank(*x) < rank(*y);
  });
  std::vector<Placement> sorted;
  sorted.reserve(order.size());
  for (Placement* p : order) sorted.push_back(std::move(*p));
  placements_ = std::move(sorted);
  auto& shown = plan.shown;
  if (has_host_root_) {
    shown.emplace_back("/", host_root_is_writable() ? "rw" : "ro");
  }
  for (const Placement& p : placements_) {
    if (!p.shown_as.empty()) shown.emplace_back(p.path, p.shown_as);
  }
}

// The deepest placement that holds the working directory must show something.
Status Placements::check_cwd(const std::string& cwd) const {
  const Placement* deepest = nullptr;
  bool leads_to_one = cwd == "/";
  for (const Placement& p : placements_) {
    if (is_below(cwd, p.path)) deepest = &p;
    // What is shown of the machine below /sys makes no directory to work in of it.
    if (is_below(p.path, cwd) && !is_below(p.path, "/sys")) leads_to_one = true;
  }
  const bool masked = deepest != nullptr && deepest->kind == PlacementKind::kMask;
  const bool fixed = is_below(cwd, "/dev") || is_below(cwd, "/proc") || is_below(cwd, "/etc");
  // A private directory begins empty but for what is placed in it.
  const bool is_absent = deepest != nullptr && deepest->kind == PlacementKind::kInside &&
                         deepest->path != cwd && !leads_to_one && !fixed;
  if (!masked && !is_absent && (deepest != nullptr || has_host_root_ || leads_to_one || fixed))
    return {};
  return cwd_not_visible(cwd);
}

bool Placements::can_be_uncovered(std::string_view path) const {
  const auto holder =
      std::find_if(placements_.rbegin(), placements_.rend(),
                   [&](const Placement& p) { return p.path != path && is_below(path, p.path); });
  return holder == placements_.rend() ? has_host_root_ : holder->kind == PlacementKind::kBind;
}

bool Placements::is_guarded(const Placement& placement) const {
  if (!can_be_uncovered(placement.path)) return false;
  // Our own files of /etc hide no secret.
  if (placement.inside.starts_with(kOwnEtc)) return false;
  // Each directory that is watched takes a descriptor: of /etc, that one is.
  if (placement.is_system &&
      (input_.facts.uid != 0 || parent_of(placement.path) != view_.etc.path)) {
    return false;
  }
  if (placement.kind == PlacementKind::kCover && !placement.is_system) {
    // What root replaces there while somebody else's command runs is the system's own upgrade.
    const auto& fixed = view_.fixed_directories;
    const std::string_view directory = parent_of(placement.path);
    return std::find(fixed.begin(), fixed.end(), directory) == fixed.end();
  }
  if (placement.kind != PlacementKind::kBind) return true;
  // Without a writable root within a narrower one, that one shows.
  const std::uint64_t narrows = sys::kMountAttrReadOnly | sys::kMountAttrNoexec;
  return (placement.attributes & narrows) != 0 || placement.shown_as.empty();
}

bool Placements::is_guarded(const ViewRoot& absent) const {
  if (!can_be_uncovered(absent.node.path) || has(absent.node.path)) return false;
  if (absent.access == Access::kNone) return true;
  const auto holder =
      std::find_if(placements_.rbegin(), placements_.rend(),
                   [&](const Placement& p) { return is_below(absent.node.path, p.path); });
  const std::uint64_t attributes =
      holder == placements_.rend() ? kReadOnlyAttributes : holder->attributes;
  return (attributes & sys::kMountAttrReadOnly) == 0 || absent.noexec;
}

bool Placements::is_ours(std::string_view path) const {
  // Parents come first: of those that hold the path, the last is the deepest.
  const auto deepest = std::find_if(placements_.rbegin(), placements_.rend(),
                                    [&](const Placement& p) { return is_below(path, p.path); });
  if (deepest == placements_.rend()) return !has_host_root_;
  return deepest->kind == PlacementKind::kInside || deepest->kind == PlacementKind::kMask;
}

}  // namespace sbx
