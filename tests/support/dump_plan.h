// SPDX-License-Identifier: Apache-2.0
// A launch plan as text, one line a step: what golden files hold, and what two plans are compared
// by.
#pragma once

#include <string>

#include "base/format.h"
#include "plan/plan.h"

namespace sbx {

inline std::string dump_plan(const LaunchPlan& plan) {
  std::string out = fmt::format("clone {:#x}\n", plan.clone_flags & ~plan.made_by_steps);
  for (const Op& op : plan.ops) {
    out += op.describe(plan);
    if (op.confirms != kNoLayer) {
      out += fmt::format("  [{}]", layer_name(static_cast<Layer>(op.confirms)));
    }
    out += '\n';
  }
  return out;
}

}  // namespace sbx
