// SPDX-License-Identifier: Apache-2.0
// A policy's roots and caches, and what is protected in them → their part of a view. Reads only.
#pragma once

#include "base/result.h"
#include "host/globs.h"
#include "host/looks.h"
#include "host/view.h"
#include "policy/policy.h"

namespace sbx {

// Whether what flags name is there: for what looks at no root, or only later.
// Errors: kPathNotFound.
Status check_flag_roots(const Policy& policy);

// Without `expansions` each pattern is expanded as it is met. What could not be looked at is with
// `looks`. Errors: kPathNotFound, kPathRefused, and those of expand_glob().
Status find_roots(const Policy& policy, bool has_mounts, Expansions* expansions, Looks& looks,
                  View& view);

}  // namespace sbx
