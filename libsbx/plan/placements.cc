// SPDX-License-Identifier: Apache-2.0
// One pass over the view for each kind of thing that is shown, hidden or held.
#include "plan/placements.h"

#include <algorithm>

#include "plan/builder.h"
#include "policy/http.h"

namespace sbx {

Placements::Placements(const PlanInput& input) : input_(input), view_(input.view) {
  for (const ViewRoot& root : view_.roots) {
    roots_.insert_or_assign(root.node.path, &root);
    if (root.access != Access::kNone) shown_roots_.emplace(root.node.path, &root);
    if (root.node.path == "/") host_root_ = &root;
  }
  for (const ViewProtect& protect : view_.protects) {
    if (protect.node.kind == NodeKind::kDirectory) held_.insert(protect.node.path);
  }
}

void Placements::add(Placement placement) {
  standing_.insert_or_assign(placement.path, placements_.size());
  placements_.push_back(std::move(placement));
}

// Null: nothing stands at the path or above it.
const Placement* Placements::deepest(std::string_view path) const {
  const std::size_t* const index = deepest_in(standing_, path);
  return index == nullptr ? nullptr : &placements_[*index];
}

Status Placements::collect(LaunchPlan& plan) {
  if (filesystem().overlay && host_root_ != nullptr && host_root_->access == Access::kReadWrite) {
    return Error{ErrorCode::kPathRefused, "no overlay can lie over /: it is the whole system",
                 host_root_->where, "name narrower roots"};
  }
  placements_.reserve(64 + view_.denied.size());
  if (filesystem().base == Base::kHost || host_root_ != nullptr) {
    has_host_root_ = true;
    for (const Node& node : view_.host_masks) {
      add({node.path, PlacementKind::kInside, {}, "proc/void", kMaskAttributes, true, ""});
    }
    add({"/dev",
         PlacementKind::kInside,
         {},
         "proc/dev",
         kWritableAttributes & ~sys::kMountAttrNodev,
         true,
         ""});
  }
  if (!has_host_root_) collect_base();
  // Of the whole host with the resolver of this sandbox and the bundle alone, where there is one.
  if (has_host_root_) cover_etc();
  if (tmp_is_writable()) {
    inside("/tmp", "proc/tmp", "private");
  } else if (has_host_root_) {
    add({"/tmp", PlacementKind::kInside, {}, "proc/tmp", kReadOnlyAttributes, true, "empty"});
  }
  add({"/dev/shm",
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
  const bool has_protects = !filesystem().overlay;  // with one, nothing reaches the host
  if (has_protects) {
    for (const ViewProtect& protect : view_.protects) collect_protect(protect, plan);
  }
  for (const ViewRoot& root : view_.roots) hold_parents(root);
  if (has_protects) {
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
    add({node.path, PlacementKind::kCover, node, std::string(kNothing), kMaskAttributes, false,
         ""});
    plan.denied_programs.push_back(node.path);
  }
}

// Whether the deepest placement above the path is a directory of the host's.
bool Placements::is_from_the_host(std::string_view path) const {
  const Placement* const holder = deepest(path);
  if (holder == nullptr) return has_host_root_;
  return holder->path != path &&
         (holder->kind == PlacementKind::kBind || holder->kind == PlacementKind::kOverlay);
}

// Only the listed programs and what they load: nothing that the command or a root brings along.
void Placements::forbid_execution() {
  for (Placement& p : placements_) {
    const bool is_tool = std::any_of(view_.tools.begin(), view_.tools.end(),
                                     [&](const Node& node) { return node.path == p.path; });
    if (!is_tool || roots_.contains(p.path)) p.attributes |= sys::kMountAttrNoexec;
  }
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
  if (view_.etc.kind == NodeKind::kMissing || roots_.contains(view_.etc.path)) return;
  bind_system(view_.etc, "ro");
  placements_.back().ids = view_.etc_map;
  cover_etc();
  for (const Node& node : view_.etc_private) {
    if (deepest_in(shown_roots_, node.path) != nullptr) continue;
    if (node.kind != NodeKind::kDirectory) {
      add({node.path, PlacementKind::kCover, node, std::string(kNothing), kMaskAttributes, false,
           "", true});
    } else {
      add({node.path,
           PlacementKind::kMask,
           {},
           std::string(kEmpty),
           kMaskAttributes,
           true,
           "",
           true});
    }
  }
}

// With files of our own.
void Placements::cover_etc() {
  const auto* const http = input_.policy.sandbox.http.get();
  for (const Node& node : view_.etc_own) {
    if (has_host_root_ && (http == nullptr || node.path != http->trust_path)) {
      const auto* const root = deepest_in(shown_roots_, node.path);
      const bool is_named = root != nullptr && (*root)->node.path != "/";
      const std::string_view name = name_part(node.path);
      if (is_named || !is_own_over_host(name, input_.policy.sandbox.network.mode)) continue;
    }
    add({node.path, PlacementKind::kCover, node,
         std::string(kOwnEtc) + node.path.substr(node.path.rfind('/')), kMaskAttributes, false, "",
         true});
  }
}

void Placements::bind(const Node& node, std::uint64_t attributes, std::string_view shown_as) {
  add({node.path, PlacementKind::kBind, node, "", attributes, node.kind == NodeKind::kDirectory,
       std::string(shown_as)});
}
// Without an inode to compare: only root can change what is there.
void Placements::bind_system(Node node, std::string_view shown_as) {
  node.ino = 0;
  bind(node, kReadOnlyAttributes, shown_as);
}
void Placements::inside(std::string_view path, std::string_view source, std::string_view shown_as) {
  add({std::string(path),
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
    add({path, PlacementKind::kBind, node, "", kWritableAttributes,
         node.kind == NodeKind::kDirectory, "cache"});
  }
  if (tmp_is_writable()) {
    inside(home, "proc/home", "private");
  } else {
    add({home, PlacementKind::kInside, {}, "proc/home", kReadOnlyAttributes, true, "empty"});
  }
}

void Placements::collect_root(const ViewRoot& root) {
  // What nothing of the host's shows needs no mask: a private /tmp or home stays.
  if (root.access == Access::kNone && !is_shown(root.node.path)) return;
  // A root replaces whatever else was to stand at the same place.
  remove(root.node.path);
  const bool is_directory = root.node.kind == NodeKind::kDirectory;
  switch (root.access) {
    case Access::kNone:
      add({root.node.path,
           PlacementKind::kMask,
           {},
           std::string(is_directory ? kEmpty : kNoFile),
           kMaskAttributes,
           is_directory,
           "none"});
      return;
    case Access::kReadOnly:
      bind(root.node, kReadOnlyAttributes | exec_attribute(root.node.path), "ro");
      placements_.back().ids = ids_of(root);
      show_kept(placements_.back());
      return;
    case Access::kReadWrite:
      bind(root.node, kWritableAttributes | exec_attribute(root.node.path), "rw");
      placements_.back().ids = ids_of(root);
      if (filesystem().overlay && (is_directory || root.node.kind == NodeKind::kFile)) {
        lay_over(placements_.back());
      }
      return;
  }
}

IdMap Placements::ids_of(const ViewRoot& root) const {
  const auto found = view_.owned.find(root.node.path);
  return found == view_.owned.end() ? IdMap() : found->second;
}

void Placements::remove(const std::string& path) {
  if (standing_.erase(path) == 0) return;
  std::erase_if(placements_, [&](const Placement& p) { return p.path == path; });
  index();
}

void Placements::index() {
  standing_.clear();
  for (std::size_t i = 0; i < placements_.size(); ++i) {
    standing_.insert_or_assign(placements_[i].path, i);
  }
}

// Its writes go elsewhere: to the scratch space, or to a layer that is kept.
void Placements::lay_over(Placement& placement) {
  show_kept(placement);
  const ViewLayer::Part* const part = placement.kept;
  if (part == nullptr) placement.kind = PlacementKind::kOverlay;
  placement.shown_as = part == nullptr ? "overlay" : part->copy.empty() ? "layer" : "layer (copy)";
}

// What runs with the layer wrote is seen by one that may only read it, and by one that has a part
// of it as a root of its own.
void Placements::show_kept(Placement& placement) const {
  const auto kind = placement.source.kind;
  if (kind != NodeKind::kDirectory && kind != NodeKind::kFile) return;
  const ViewLayer::Part* const part =
      deepest_at(view_.layer.parts, placement.path,
                 [](const ViewLayer::Part& p) -> std::string_view { return p.root; });
  if (part == nullptr) return;
  placement.kept = part;
  const std::string rest = placement.path.substr(part->root.size());
  if (!part->copy.empty()) {
    placement.source = Node{part->copy + rest, kind, 0, 0};
  } else if (rest.empty()) {
    placement.kind = PlacementKind::kOverlay;
  } else {
    placement.source = Node{kept_place(view_, *part) + rest, kind, 0, 0};
  }
}

std::string kept_place(const View& view, const ViewLayer::Part& part) {
  return "proc/part" + std::to_string(&part - view.layer.parts.data());
}

// What the deepest root that holds `path` says of executing.
std::uint64_t Placements::exec_attribute(std::string_view path) const {
  const auto* const holder = deepest_in(roots_, path);
  return holder != nullptr && (*holder)->noexec ? sys::kMountAttrNoexec : 0;
}

// A root within a writable one: the directories on the way to it become mount points of their own,
// which rename(2) refuses to move. Moved away, the root would not be found, or would stand open
// under another name, in the next run, and another in its place would hold nothing protected.
void Placements::hold_parents(const ViewRoot& root) {
  if (root.node.path == "/") return;
  const auto* const above = deepest_in(roots_, parent_of(root.node.path));
  if (above == nullptr || (*above)->access != Access::kReadWrite) return;
  const ViewRoot* const holder = *above;
  // In an overlay no directory of the real tree is moved; in a layer that is a copy each can be.
  const std::string& top = holder->node.path;
  const auto standing = standing_.find(top);
  const ViewLayer::Part* const kept =
      standing == standing_.end() ? nullptr : placements_[standing->second].kept;
  const bool is_copy = kept != nullptr && !kept->copy.empty();
  if (filesystem().overlay && !is_copy) return;
  const std::string& path = root.node.path;
  for (std::size_t at = path.find('/', top.size() + 1); at != std::string::npos;
       at = path.find('/', at + 1)) {
    const std::string parent = path.substr(0, at);
    // What is our own is gone with the run.
    if (has(parent) || !is_from_the_host(parent)) continue;
    if (!filesystem().overlay && is_in_protected(parent)) continue;
    bind(Node{parent, NodeKind::kDirectory, 0, 0}, kWritableAttributes | exec_attribute(parent),
         "");
    if (is_copy) placements_.back().source.path = kept->copy + parent.substr(top.size());
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
         deepest_in(shown_roots_, path) != nullptr;
}

// A protected path cannot be written, and its parents are mount points of their own: rename(2),
// rmdir(2) and RENAME_EXCHANGE on a mount point give EBUSY.
void Placements::collect_protect(const ViewProtect& protect, LaunchPlan& plan) {
  if (!protect.mask && is_in_protected(protect.node.path)) return;
  if (protect.mask) {
    if (has(protect.node.path)) return;
    add({protect.node.path,
         PlacementKind::kMask,
         {},
         std::string(kNoFile),
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
  add({protect.node.path,
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
    if (has(parent.path) || is_in_protected(parent.path)) continue;
    // In a narrower root that lies on the way nothing is moved, nor may be written.
    const auto* const above = deepest_in(roots_, parent.path);
    if (above != nullptr && (*above)->access != Access::kReadWrite) continue;
    bind(parent, kWritableAttributes | exec_attribute(parent.path), "");
  }
}

// Whether a protected directory, read-only as a whole, holds the path, and no root does so further
// down.
bool Placements::is_in_protected(std::string_view path) const {
  if (held_.empty()) return false;
  const auto* const root = deepest_in(roots_, path);
  const std::string_view top = root == nullptr ? "/" : std::string_view((*root)->node.path);
  for (std::string_view at = path; at != "/";) {
    at = parent_of(at);
    if (held_.contains(at) && !is_below(top, at)) return true;
  }
  return false;
}

bool Placements::has(std::string_view path) const { return standing_.contains(path); }

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
  index();
  follow_owners();
  auto& shown = plan.shown;
  if (has_host_root_) {
    shown.emplace_back("/", host_root_is_writable() ? "rw" : "ro");
  }
  for (const Placement& p : placements_) {
    if (!p.shown_as.empty()) shown.emplace_back(p.path, p.shown_as);
  }
}

// What stands below a root that is shown as another user's, and is no root of its own, is of the
// same tree.
void Placements::follow_owners() {
  if (view_.owned.empty()) return;
  for (Placement& p : placements_) {
    if (p.kind != PlacementKind::kBind || p.path == "/" || p.source.path != p.path ||
        roots_.contains(p.path)) {
      continue;
    }
    const Placement* const above = deepest(parent_of(p.path));
    p.is_from_above = above != nullptr && above->path != view_.etc.path &&
                      (above->ids.is_made() || above->is_from_above);
  }
}

Error cwd_not_visible(const std::string& cwd) {
  return Error{ErrorCode::kCwdNotVisible, "the working directory is not visible inside: " + cwd,
               "--cwd", "show it with --ro or --rw, or choose another with --cwd"};
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
  const Placement* const holder = path == "/" ? nullptr : deepest(parent_of(path));
  return holder == nullptr ? has_host_root_ : holder->kind == PlacementKind::kBind;
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
  const Placement* const holder = deepest(absent.node.path);
  const std::uint64_t attributes = holder == nullptr ? kReadOnlyAttributes : holder->attributes;
  return (attributes & sys::kMountAttrReadOnly) == 0 || absent.noexec;
}

bool Placements::is_guarded(const ViewProtect& missing) const {
  return missing.leads_git && filesystem().replaced != ReplacedMode::kReport &&
         can_be_uncovered(missing.node.path);
}

bool Placements::is_open(std::string_view path) const {
  const Placement* const holder = deepest(path);
  if (holder == nullptr) return !has_host_root_;
  return holder->kind == PlacementKind::kInside &&
         (holder->attributes & sys::kMountAttrReadOnly) == 0;
}

bool Placements::is_ours(std::string_view path) const {
  const Placement* const holder = deepest(path);
  if (holder == nullptr) return !has_host_root_;
  return holder->kind == PlacementKind::kInside || holder->kind == PlacementKind::kMask;
}

}  // namespace sbx
