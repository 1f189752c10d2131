// SPDX-License-Identifier: Apache-2.0
// Field: a word while it is worked on, with marks in its text where a part is made at run time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shell/syntax.h"

namespace sbx::shell {

struct Field {
  Span span;
  std::string text;
  bool has_glob = false;
  bool splits = false;
  bool has_tilde = false;
  bool is_process = false;                    // <(…)
  std::optional<std::string> process_output;  // what it gives, where that is constant

  bool is_known() const { return !has_mark(text); }
  // Whether it may be names of files, of any letters.
  bool gives_file_names() const {
    return has_glob && text.find_first_of("*?") != std::string::npos;
  }
};

// What a program is called by: the part of its path behind the last slash; nullopt: not known.
std::optional<std::string_view> program_name(const Field& field);

// Whether it may be no word at all where it runs: an unquoted value that begins with what is not
// known, or one that may be empty.
bool may_vanish(const Field& field);

Word to_word(const Field& field);

// What the shell makes of the word: one of the files that a pattern matches, ~ put in; a hole where
// that is not known.
std::string made_of(const Field& field);

}  // namespace sbx::shell
