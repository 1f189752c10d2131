// SPDX-License-Identifier: Apache-2.0
// FieldBuilder: field splitting by the rules of POSIX.
#include "shell/field_builder.h"

namespace sbx::shell {

void FieldBuilder::note(char c) {
  // What is known of a part holds as long as blanks are all that splits it.
  if (is_mark(c) && splits_ && separators_ != " \t\n") c = kHole;
  if (c == kComponent && splits_) c = kHole;
  // A [ alone is a program's name.
  if (c == '*' || c == '?' || (c == ']' && has_bracket_)) field_.has_glob = true;
  has_bracket_ = has_bracket_ || c == '[';
  if (c == kHole) field_.splits = splits_;
  field_.text += c;
}

void FieldBuilder::add_literal(std::string_view text) {
  if (!is_begun_ && field_.text.empty() && text.starts_with('~')) field_.has_tilde = true;
  for (const char c : text) note(c);
}

void FieldBuilder::add_unquoted(std::string_view value) {
  if (!splits_) {
    field_.text += value;
    return;
  }
  if (!separators_) field_.splits = true;
  bool after_separator = false;
  for (const char c : value) {
    if (!separators_ || is_mark(c) || separators_->find(c) == std::string::npos) {
      note(c);
      after_separator = false;
      continue;
    }
    const bool is_space = c == ' ' || c == '\t' || c == '\n';
    if (!is_space && !after_separator) is_begun_ = true;  // an empty field counts
    finish();
    after_separator = is_space;
  }
}

void FieldBuilder::next_item() {
  if (splits_) {
    finish();
  } else {
    field_.text += ' ';
  }
}

void FieldBuilder::add_list(const std::vector<std::string>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) next_item();
    add_unquoted(items[i]);
  }
}

void FieldBuilder::add_quoted_list(const std::vector<std::string>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) next_item();
    add_quoted(items[i]);
  }
}

void FieldBuilder::add_process(std::optional<std::string> output) {
  field_.is_process = true;
  field_.process_output = std::move(output);
  add_quoted(std::string_view(&kHole, 1));
}

void FieldBuilder::finish() {
  if (is_begun_ || !field_.text.empty()) {
    field_.span = span_;
    fields_.push_back(std::move(field_));
  }
  field_ = {};
  is_begun_ = has_bracket_ = false;
}

}  // namespace sbx::shell
