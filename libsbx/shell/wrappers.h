// SPDX-License-Identifier: Apache-2.0
// Wrappers: the programs that run the program that their arguments name, and how their own options
// are told from it. Data, from their man pages.
#pragma once

#include <string_view>

namespace sbx::shell {

struct Wrapper {
  std::string_view name;
  std::string_view short_with_value;  // letters
  std::string_view long_with_value;   // names between spaces, where the value may be the next word
  int operands = 0;                   // of its own, before the program
  bool takes_assignments = false;     // NAME=value before the program
  std::string_view ends = {};         // letters of options with which nothing is run
  bool may_begin_with_operand = false;  // one of its own, before its options
};

// By its name without directories, the dynamic linkers among them; nullptr where it is none.
const Wrapper* find_wrapper(std::string_view program);

// Those that do many things, and run a program where a verb says so.
struct Launcher {
  std::string_view name;
  std::string_view verbs;  // between spaces; empty: none is needed; "?VERB": there may be one
  std::string_view short_with_value;
  std::string_view long_with_value;
  int operands = 0;                    // of its own, behind the verb
  std::string_view text_options = {};  // whose value is a shell's text
  bool is_behind_dashes = false;       // the program stands behind "--" only
};

const Launcher* find_launcher(std::string_view program);

}  // namespace sbx::shell
