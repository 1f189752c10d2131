// SPDX-License-Identifier: Apache-2.0
// The words that tell sbx-layer what a policy keeps a commit from, and a patch.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host/globs.h"
#include "policy/policy.h"

namespace sbx {

// --protect, --hide, --read-only, --writable and --report, with paths as they are now; `expansions`
// of the policy's patterns, where they are known. Errors: those of inspect_roots().
Status add_policy_words(std::vector<std::string>& words, const Policy& policy,
                        Expansions* expansions = nullptr);

}  // namespace sbx
