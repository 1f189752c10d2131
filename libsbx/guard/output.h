// SPDX-License-Identifier: Apache-2.0
// Output: what a command prints, where its text tells: echo, printf, cat of a constant input. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guard/field.h"

namespace sbx {

// `input` is what the command would read on its standard input. nullopt: not known.
std::optional<std::string> constant_output(const std::vector<Field>& words,
                                           const std::optional<std::string>& input);

}  // namespace sbx
