// SPDX-License-Identifier: Apache-2.0
// KeptMounts: a kept layer's overlays as operations: one over each root, and what is seen of one at
// another place.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "plan/builder.h"
#include "plan/placements.h"

namespace sbx {

// Of mount(2), for an overlay.
std::uint64_t overlay_flags(const Placement& placement);

class KeptMounts {
 public:
  KeptMounts(PlanBuilder& builder, const View& view, const Placements& placements)
      : builder_(builder), view_(view), placements_(placements) {}

  // Over the root of its part; read-only by its attributes.
  void lay_over(const Placement& placement);

  // Whether it shows what lies within a part of the layer, not its top.
  static bool is_part(const Placement& placement) {
    return placement.kept != nullptr && placement.path != placement.kept->root;
  }
  void bind(const Placement& placement);

 private:
  void mount(const ViewLayer::Part& part, const Node& real, std::string_view destination,
             bool is_read_only, std::uint64_t flags);
  void mount_aside(const ViewLayer::Part& part, const Node& real);
  bool is_seen_elsewhere(const ViewLayer::Part& part) const;

  PlanBuilder& builder_;
  const View& view_;
  const Placements& placements_;
  std::set<const ViewLayer::Part*> places_;  // those that are mounted in the workshop
  int count_ = 0;
};

}  // namespace sbx
