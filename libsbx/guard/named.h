// SPDX-License-Identifier: Apache-2.0
// Paths that stand in a command's text and that the policy does not show, or does not let be
// written where the text writes: nobody is asked about them, since no answer would change what the
// kernel does, so its refusal has to be told. Text only.
#pragma once

#include <string>
#include <vector>

#include "guard/rule.h"
#include "guard/verdict.h"

namespace sbx::guard {

struct NamedPaths {
  std::vector<RefusedPath> refused;
  std::vector<std::string>
      made;  // by mkdir, in the sandbox's own places: what lies there is its own
};

// Adds those of one command, each once; the commands in the order of the text.
void find_refused_paths(const Policy& policy, const Case& c, NamedPaths& out);

}  // namespace sbx::guard
