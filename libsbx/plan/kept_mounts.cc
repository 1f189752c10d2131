// SPDX-License-Identifier: Apache-2.0
#include "plan/kept_mounts.h"

#include <sys/mount.h>

#include <algorithm>

namespace sbx {
namespace {

constexpr const char* kStore = "proc/kept";

}  // namespace

std::uint64_t overlay_flags(const Placement& placement) {
  std::uint64_t flags = MS_NOSUID | MS_NODEV;
  if ((placement.attributes & sys::kMountAttrNoexec) != 0) flags |= MS_NOEXEC;
  if ((placement.attributes & sys::kMountAttrReadOnly) != 0) flags |= MS_RDONLY;
  return flags;
}

// The store of the layers, once for all: upper and work directory must lie on one mount.
// Volatile: else the kernel would write out the whole file system at the end of every run.
void KeptMounts::mount(const ViewLayer::Part& part, const Node& real, std::string_view destination,
                       bool is_read_only, std::uint64_t flags) {
  builder_.plan().layer = view_.layer;
  const auto make_dir = [this](std::string_view path, unsigned mode) {
    builder_.add(op::MakeDir{builder_.text(path), mode}, Layer::kMount);
  };
  if (count_ == 0) {
    make_dir(kStore, 0700);
    builder_.bind(Node{view_.layer.store, NodeKind::kDirectory, 0, 0}, kStore, kWritableAttributes);
  }
  const std::string lower = "proc/real" + std::to_string(count_++);
  make_dir(lower, 0755);
  builder_.bind(real, lower, kReadOnlyAttributes);
  const std::string store = std::string(kStore) + "/";
  std::string options = "lowerdir=";
  if (is_read_only) options += store + part.upper + ":";
  for (const std::string& frozen : part.lowers) options += store + frozen + ":";
  options += lower;
  if (!is_read_only) {
    options += ",upperdir=" + store + part.upper + ",workdir=" + store + part.work;
  }
  options += is_read_only ? ",userxattr" : ",userxattr,volatile";
  builder_.add(
      op::Mount{FileSystem::kOverlay, builder_.text(destination), builder_.text(options), flags},
      Layer::kMount);
}

void KeptMounts::lay_over(const Placement& placement) {
  const ViewLayer::Part& part = *placement.kept;
  const std::string_view destination = std::string_view(placement.path).substr(1);
  if (!is_seen_elsewhere(part)) {
    return mount(part, placement.source, destination,
                 (placement.attributes & sys::kMountAttrReadOnly) != 0, overlay_flags(placement));
  }
  mount_aside(part, placement.source);
  builder_.add(op::BindInside{builder_.text(kept_place(view_, part)), builder_.text(destination),
                              placement.attributes},
               Layer::kMount);
}

// What it lies in was written from inside: no symlink is followed.
void KeptMounts::bind(const Placement& placement) {
  const ViewLayer::Part& part = *placement.kept;
  if (part.copy.empty()) mount_aside(part, Node{part.root, NodeKind::kDirectory, 0, 0});
  builder_.bind(placement.source, std::string_view(placement.path).substr(1), placement.attributes);
}

// Once: two mounts of one upper directory would not see each other's writes.
void KeptMounts::mount_aside(const ViewLayer::Part& part, const Node& real) {
  if (!places_.insert(&part).second) return;
  const auto& all = placements_.all();
  const bool is_read_only = std::none_of(all.begin(), all.end(), [&](const Placement& p) {
    return p.kept == &part && (p.attributes & sys::kMountAttrReadOnly) == 0;
  });
  const std::string place = kept_place(view_, part);
  builder_.add(op::MakeDir{builder_.text(place), 0755}, Layer::kMount);
  mount(part, real, place, is_read_only,
        MS_NOSUID | MS_NODEV | (is_read_only ? std::uint64_t{MS_RDONLY} : 0));
}

bool KeptMounts::is_seen_elsewhere(const ViewLayer::Part& part) const {
  const auto& all = placements_.all();
  return std::any_of(all.begin(), all.end(),
                     [&](const Placement& p) { return p.kept == &part && is_part(p); });
}

}  // namespace sbx
