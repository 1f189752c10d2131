// SPDX-License-Identifier: Apache-2.0
// Placements: what stands where in the new root, and how: (Policy, View) → a list with parents
// first, so that the most specific path wins in whatever order it was written. Pure; view_ops.cc
// makes operations of it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/paths.h"
#include "plan/plan.h"
#include "sys/kernel.h"

namespace sbx {

// What stands at the path or, of what stands above it, nearest; null: nothing. A pattern may have
// matched thousands of paths, so that none is looked for one by one.
template <class T>
const T* deepest_in(const std::map<std::string, T, std::less<>>& by_path, std::string_view path) {
  for (;; path = parent_of(path)) {
    if (const auto found = by_path.find(path); found != by_path.end()) return &found->second;
    if (path == "/" || path.empty()) return nullptr;
  }
}

inline constexpr std::uint64_t kReadOnlyAttributes =
    sys::kMountAttrReadOnly | sys::kMountAttrNosuid | sys::kMountAttrNodev;
inline constexpr std::uint64_t kWritableAttributes = sys::kMountAttrNosuid | sys::kMountAttrNodev;
// Device nodes themselves are read-only: data still flows, but no mode or time changes on the host.
inline constexpr std::uint64_t kDeviceAttributes =
    sys::kMountAttrReadOnly | sys::kMountAttrNosuid | sys::kMountAttrNoexec;
inline constexpr std::uint64_t kMaskAttributes = kReadOnlyAttributes | sys::kMountAttrNoexec;

// What stands in the place of a missing protected path: an empty directory that can be listed,
// since git and find complain of one that cannot.
inline constexpr std::string_view kAbsent = "proc/absent";

// A mount of its own, so that what is bound from below it has the attributes of a mask.
inline constexpr std::string_view kMasks = "proc/masks";
inline constexpr std::string_view kEmpty = "proc/masks/empty";
inline constexpr std::string_view kNoFile = "proc/masks/nofile";
// What stands in the place of a program that is denied, or of a private file.
inline constexpr std::string_view kNothing = "proc/masks/denied";
// Our own files of /etc.
inline constexpr std::string_view kOwnEtc = "proc/masks/etc";

// kCover: a file of ours over one that only root can change, in one call.
enum class PlacementKind : std::uint8_t { kBind, kInside, kMask, kOverlay, kCover };

struct Placement {
  std::string path;
  PlacementKind kind = PlacementKind::kBind;
  Node source;         // for kBind and kOverlay; for kCover: what it covers
  std::string inside;  // workshop path, for kInside, kMask and kCover
  std::uint64_t attributes = 0;
  bool is_directory = true;
  std::string shown_as;
  bool is_system = false;      // only root can change what is below: masks in /etc
  IdMap ids = {};              // of kBind: made: shown as a tree of that
  bool is_from_above = false;  // of kBind: of the tree that the placement above shows
  // The part of a kept layer that it shows: for kOverlay where its writes go; null: nowhere.
  const ViewLayer::Part* kept = nullptr;
};

// Workshop path at which a layer shows what the run sees of that part of it elsewhere.
std::string kept_place(const View& view, const ViewLayer::Part& part);

class Placements {
 public:
  explicit Placements(const PlanInput& input);

  // Fills the list, and what the plan says of it: shown, stubs, report_created.
  // Errors: kCwdNotVisible for plan.cwd.
  Status collect(LaunchPlan& plan);

  std::vector<Placement>& all() { return placements_; }
  const std::vector<Placement>& all() const { return placements_; }
  bool has(std::string_view path) const;
  // After collect(): whether the directory `path` lies on our own tmpfs. Elsewhere nothing is ever
  // made: the host's own directories stand there already, since inside and outside paths are the
  // same.
  bool is_ours(std::string_view path) const;
  // Whether something of ours can still be made there once all placements stand.
  bool is_open(std::string_view path) const;
  // After collect(): whether the host can take away what is mounted at `path`, by replacing what
  // stands there in a directory of its own. An overlay's own entries are out of its reach.
  bool can_be_uncovered(std::string_view path) const;
  bool is_guarded(const Placement& placement) const;
  // Whether an optional root that does not exist must be covered when it appears.
  bool is_guarded(const ViewRoot& absent) const;
  // Whether what is made at a path where nothing is has to be taken away.
  bool is_guarded(const ViewProtect& missing) const;

  // The new root is the host's own, with masks over it.
  bool has_host_root() const { return has_host_root_; }
  bool host_root_is_writable() const {
    return host_root_ != nullptr && host_root_->access == Access::kReadWrite;
  }
  bool tmp_is_writable() const { return has_scratch(input_.policy.sandbox); }

 private:
  const FilesystemProfile& filesystem() const { return input_.policy.sandbox.filesystem; }
  void add(Placement placement);
  void remove(const std::string& path);
  void index();
  const Placement* deepest(std::string_view path) const;
  void collect_denied(LaunchPlan& plan);
  void collect_etc();
  void cover_etc();
  bool is_from_the_host(std::string_view path) const;
  void forbid_execution();
  void collect_base();
  void bind(const Node& node, std::uint64_t attributes, std::string_view shown_as);
  void bind_system(Node node, std::string_view shown_as);
  void inside(std::string_view path, std::string_view source, std::string_view shown_as);
  void collect_home(std::string_view chosen);
  void collect_root(const ViewRoot& root);
  void lay_over(Placement& placement);
  void show_kept(Placement& placement) const;
  IdMap ids_of(const ViewRoot& root) const;
  std::uint64_t exec_attribute(std::string_view path) const;
  void hold_parents(const ViewRoot& root);
  bool is_shown(std::string_view path) const;
  void collect_protect(const ViewProtect& protect, LaunchPlan& plan);
  void hold_parents(const ViewProtect& protect);
  bool is_in_protected(std::string_view path) const;
  void sort(LaunchPlan& plan);
  void follow_owners();
  Status check_cwd(const std::string& cwd) const;

  const PlanInput& input_;
  const View& view_;
  std::vector<Placement> placements_;
  std::map<std::string, std::size_t, std::less<>> standing_;  // indices of placements_
  std::map<std::string, const ViewRoot*, std::less<>> roots_;
  std::map<std::string, const ViewRoot*, std::less<>> shown_roots_;
  std::set<std::string, std::less<>> held_;  // protected directories
  const ViewRoot* host_root_ = nullptr;
  bool has_host_root_ = false;
};

}  // namespace sbx
