// SPDX-License-Identifier: Apache-2.0
// Outcome → the JSON answer of docs/result.md, in one line. Pure.
#pragma once

#include <string>

#include "model/outcome.h"

namespace sbx {

class JsonWriter;

std::string outcome_to_json(const Outcome& outcome);
void write_outcome(JsonWriter& json, const Outcome& outcome);
// Within an object that has begun; of it, what was written.
void write_outcome_members(JsonWriter& json, const Outcome& outcome);
void write_streams(JsonWriter& json, const Outcome& outcome);

// draft-07 schema of the answer, and the array of {"code","meaning"}.
std::string result_schema_json();
std::string errors_json();

}  // namespace sbx
