// SPDX-License-Identifier: Apache-2.0
// Arguments: the words of one command behind its name → options and operands, as getopt_long
// would see them, options after operands included. Refers to the words; copies nothing.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "shell/reading.h"

namespace sbx::shell {

// Whether `name` is one of the words of `list`.
bool is_listed(std::string_view name, std::string_view list);

// The last component of a path: the name that a program goes by.
std::string_view base_name(std::string_view path);

// ASCII only.
bool contains_ignoring_case(std::string_view text, std::string_view lower_case_part);

// Where git's subcommand stands among the words, behind git's own options; 0: nowhere.
std::size_t git_subcommand(const Command& command);

class Arguments {
 public:
  // Reads from words[first] on. The letters in `short_values` are options that take a value, and so
  // do the long options in `long_values` (without their dashes), where none follows a '='.
  Arguments(const Command& command, std::size_t first, std::string_view short_values = "",
            std::initializer_list<std::string_view> long_values = {});

  // Each answers the word that says so; null: absent. A long name may be shortened to three
  // letters.
  const Word* find(char letter) const;
  const Word* find(std::string_view long_name) const;
  const Word* find(char letter, std::string_view long_name) const;
  // The value of a long option, or of a letter, where it is plainly written.
  std::string_view value(char letter, std::string_view long_name) const;

  const std::vector<const Word*>& operands() const { return operands_; }
  // How many operands stand before "--"; all of them without it.
  std::size_t before_dashes() const { return before_dashes_; }

 private:
  struct Option {
    char letter = '\0';  // '\0': a long one
    std::string_view name;
    std::string_view value;
    const Word* word = nullptr;
  };
  void add_long(const Command& command, std::size_t& at,
                std::initializer_list<std::string_view> long_values);
  void add_short(const Command& command, std::size_t& at, std::string_view short_values);

  std::vector<Option> options_;
  std::vector<const Word*> operands_;
  std::size_t before_dashes_ = 0;
  bool has_dashes_ = false;
};

}  // namespace sbx::shell
