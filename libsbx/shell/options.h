// SPDX-License-Identifier: Apache-2.0
// Options: walks over a program's own options in its words. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "shell/field.h"

namespace sbx::shell {

class Options {
 public:
  // Letters and names (between spaces) of the options whose value may be the next word.
  Options(const std::vector<Field>& words, std::string_view short_with_value,
          std::string_view long_with_value)
      : words_(words), short_(short_with_value), long_(long_with_value) {}

  struct Option {
    std::string_view name;  // one letter, or the long name
    const Field* word = nullptr;
    std::optional<std::string_view> value;
    const Field* value_word = nullptr;  // the word that holds the value
  };

  // The next option; nullopt: the operands begin at at().
  std::optional<Option> next();
  std::size_t at() const { return at_; }
  // Words that may be options, or none, or more: only the run knows.
  const std::vector<Span>& unknown() const { return unknown_; }

 private:
  const std::vector<Field>& words_;
  std::string_view short_;
  std::string_view long_;
  std::size_t at_ = 1;
  std::size_t letter_ = 0;  // within words_[at_]; 0: at its beginning
  std::vector<Span> unknown_;
};

}  // namespace sbx::shell
