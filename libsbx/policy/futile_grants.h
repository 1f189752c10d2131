// SPDX-License-Identifier: Apache-2.0
// Grants that the managed policy would take away again: a denial is told without one. Text only.
#pragma once

#include "model/outcome.h"
#include "policy/policy.h"

namespace sbx {

// Empties those of the outcome's denials; a warning names each managed file that is the reason.
void drop_futile_grants(const Policy& policy, Outcome& outcome);

}  // namespace sbx
