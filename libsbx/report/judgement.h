// SPDX-License-Identifier: Apache-2.0
// Judgement → JSON: the answer of `check`, and the rules within an approval; or what a person
// reads.
#pragma once

#include <string>
#include <vector>

#include "guard/verdict.h"

namespace sbx {

class JsonWriter;

// {"verdict", "rules": […], "unknown": […]}, as `check` prints it.
std::string judgement_to_json(const guard::Judgement& judgement);
void write_judgement(JsonWriter& json, const guard::Judgement& judgement);

// Lines: the verdict, what led to it, and what the text does not tell.
std::string judgement_to_text(const guard::Judgement& judgement);

// The array of rules, as a value.
void write_rules(JsonWriter& json, const std::vector<Finding>& findings);

// 0, 126 or 3.
int judgement_exit_status(Verdict verdict);

}  // namespace sbx
