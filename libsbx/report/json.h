// SPDX-License-Identifier: Apache-2.0
// Outcome → the JSON answer of docs/result.md, in one line. Pure.
#pragma once

#include <string>

#include "model/outcome.h"

namespace sbx {

std::string outcome_to_json(const Outcome& outcome);

// draft-07 schema of the answer, and the array of {"code","meaning"}.
std::string result_schema_json();
std::string errors_json();

}  // namespace sbx
