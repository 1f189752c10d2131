// SPDX-License-Identifier: Apache-2.0
// The words that tell sbx-layer what a policy keeps a commit from.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace sbx {

// --protect, --hide and --report, with paths as they are now. Errors: those of inspect_roots().
Status add_policy_words(std::vector<std::string>& words, const Policy& policy);

}  // namespace sbx
