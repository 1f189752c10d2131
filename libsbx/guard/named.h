// SPDX-License-Identifier: Apache-2.0
// Paths that stand in a command's text and that the policy does not show, or does not let be
// written where the text writes: nobody is asked about them, since no answer would change what the
// kernel does, so its refusal has to be told. Text only.
#pragma once

#include <vector>

#include "guard/rule.h"
#include "guard/verdict.h"

namespace sbx::guard {

// Adds those of one command, each once.
void find_refused_paths(const Policy& policy, const Case& c, std::vector<RefusedPath>& out);

}  // namespace sbx::guard
