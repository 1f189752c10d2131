// SPDX-License-Identifier: Apache-2.0
// Explained: what a run would be, without one.
#pragma once

#include <string>

#include "base/result.h"
#include "guard/verdict.h"
#include "plan/plan.h"
#include "run/run.h"

namespace sbx {

struct Explained {
  LaunchPlan plan;
  guard::Judgement judgement;
  std::string layer_kind;  // of the layer that its writes would be kept in; empty: none
};

// Probes the host where the policy may have to fall back. `expansions`: of the policy's patterns,
// where they are known; may be null. Errors: those of a run before it begins.
Result<Explained> explain_command(RunInput& input, Expansions* expansions = nullptr);

}  // namespace sbx
