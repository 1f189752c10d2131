// SPDX-License-Identifier: Apache-2.0
// What the two verbs share: a result's grants, a person's yes, and a profile's file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace sbx::learn {

// The texts of its denials' grants, each once. Errors: kBadValue, with where it is no result.
Result<std::vector<std::string>> grants_of(const nlohmann::json& result);

// As many spaces as the text's first indented line has.
int indent_of(const std::string& text);

// Whole or not at all, with the mode that it has. Errors: kOutputUnwritable.
Status replace_file(const std::string& path, const std::string& text);

// Whether there is a person at a terminal, wherever standard input leads.
bool is_at_terminal();

// That person's yes. No, where there is none.
bool is_agreed(const std::string& question);

// The same, where nobody has said `yes` before.
bool is_wanted(const std::string& file, bool yes);

}  // namespace sbx::learn
