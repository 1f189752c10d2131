// SPDX-License-Identifier: Apache-2.0
// Parser: a shell text → its syntax tree, in one pass. Reads on after a fault with the next line,
// as a shell does that has run the lines before it. Pure: no I/O; depth and look-ahead are bounded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shell/syntax.h"

namespace sbx::shell {

inline constexpr int kMaxDepth = 100;

// A text with the place of its bytes in the text that was first given.
struct Source {
  std::string_view text;
  std::uint32_t base = 0;       // place of its first byte
  bool is_inside_word = false;  // every span is `whole`
  Span whole;
  std::vector<std::uint32_t> places;  // of each byte, where escapes were removed; else empty

  Span span(std::size_t begin, std::size_t end) const;
  // In this text itself, also where it stands inside a word.
  Span inside(std::size_t begin, std::size_t end) const;
};

// Reads `source` into `tree`. `depth` is how deep the text itself lies, from 0.
void parse_shell(const Source& source, int depth, Tree& tree);

bool is_name(std::string_view text);
// The value of a word that is made of literal and quoted text only.
bool plain_text(const WordNode& word, std::string& text);

}  // namespace sbx::shell
