// SPDX-License-Identifier: Apache-2.0
// Outcomes of every status with every field set and unset, for the tests of report/.
#pragma once

#include <vector>

#include "model/outcome.h"

namespace sbx {

std::vector<Outcome> sample_outcomes();

}  // namespace sbx
