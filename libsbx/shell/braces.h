// SPDX-License-Identifier: Apache-2.0
// Braces: {a,b} and {1..3} → the words that they make, before anything else is expanded. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shell/syntax.h"

namespace sbx::shell {

// A piece of a word: unquoted text, or a part as it stands.
struct Piece {
  const Part* part = nullptr;  // nullptr: `text`
  std::string text;
};
using Pieces = std::vector<Piece>;

// nullopt: more than `max` words, or braces nested too deeply.
std::optional<std::vector<Pieces>> expand_braces(const std::vector<Part>& parts, std::size_t max);

}  // namespace sbx::shell
