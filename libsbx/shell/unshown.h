// SPDX-License-Identifier: Apache-2.0
// What makes a shell run a text or a program that no command shows: another meaning of a name, a
// prompt or a subscript that is expanded once more. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "shell/field.h"

namespace sbx::shell {

// As the shell expands once more what it has taken from quotes.
bool holds_substitution(std::string_view text);
bool holds_subscript(std::string_view text);
// The same of a value that only the run tells.
bool may_hold_substitution(std::string_view text);

bool assigns_unshown(std::string_view name, std::string_view value);
// NAME[…] whose subscript is no plain number.
bool is_element(std::string_view name);

// By a builtin and its arguments.
bool runs_unshown(const std::vector<Field>& words);

}  // namespace sbx::shell
