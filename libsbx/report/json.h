// SPDX-License-Identifier: Apache-2.0
// Outcome → the JSON answer of docs/result.md, in one line. Pure.
#pragma once

#include <string>

#include "model/outcome.h"

namespace sbx {

class JsonWriter;

std::string outcome_to_json(const Outcome& outcome);
void write_outcome(JsonWriter& json, const Outcome& outcome);
// Within an object that has begun, with these texts in place of the outcome's own.
void write_outcome_members(JsonWriter& json, const Outcome& outcome, const StreamText& out,
                           const StreamText& err);

// draft-07 schema of the answer, and the array of {"code","meaning"}.
std::string result_schema_json();
std::string errors_json();

}  // namespace sbx
