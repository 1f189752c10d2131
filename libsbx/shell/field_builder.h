// SPDX-License-Identifier: Apache-2.0
// FieldBuilder: the expanded parts of a word → fields, split where they are unquoted.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shell/field.h"

namespace sbx::shell {

class FieldBuilder {
 public:
  // `separators`: $IFS, nullopt where it is not known. Without `splits` there is at most one field.
  FieldBuilder(std::vector<Field>& fields, Span span, std::optional<std::string> separators,
               bool splits)
      : fields_(fields), span_(span), separators_(std::move(separators)), splits_(splits) {}

  void add_quoted(std::string_view text) {
    field_.text += text;
    is_begun_ = true;
  }
  // Text of the word itself: never split.
  void add_literal(std::string_view text);
  // A value: split at the separators.
  void add_unquoted(std::string_view value);
  void add_list(const std::vector<std::string>& items);         // $@
  void add_quoted_list(const std::vector<std::string>& items);  // "$@"
  void add_process(std::optional<std::string> output);
  void finish();

 private:
  void note(char c);
  void next_item();  // of a list: a field of its own, or the same one behind a space

  std::vector<Field>& fields_;
  Span span_;
  std::optional<std::string> separators_;
  bool splits_;
  Field field_;
  bool is_begun_ = false;
  bool has_bracket_ = false;  // an unquoted [ stands in the field
};

}  // namespace sbx::shell
