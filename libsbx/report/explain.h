// SPDX-License-Identifier: Apache-2.0
// LaunchPlan → what would be built, as text for people or as JSON. It is the plan itself, printed.
#pragma once

#include <string>

#include "guard/verdict.h"
#include "plan/plan.h"
#include "policy/policy.h"

namespace sbx {

// `layer_kind`: of the layer that writes are kept in; empty: none.
std::string explain_text(const LaunchPlan& plan, const Policy& policy,
                         const guard::Judgement& judgement, const std::string& layer_kind);
std::string explain_json(const LaunchPlan& plan, const Policy& policy,
                         const guard::Judgement& judgement, const std::string& layer_kind);

}  // namespace sbx
