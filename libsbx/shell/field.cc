// SPDX-License-Identifier: Apache-2.0
// Field → the word that users of a reading see.
#include "shell/field.h"

namespace sbx::shell {

std::optional<std::string_view> program_name(const Field& field) {
  std::string_view name = field.text;
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  if (field.has_glob || name.empty() || has_mark(name)) {
    return std::nullopt;
  }
  return name;
}

bool may_vanish(const Field& field) {
  if (field.text.empty()) return false;
  return (field.splits && field.text[0] == kHole) || may_be_empty(field.text);
}

std::string made_of(const Field& field) {
  if (field.is_process || field.splits) return {kHole};
  std::string text = field.text;
  if (field.has_tilde && text.starts_with('~')) {
    if (text.size() > 1 && text[1] != '/') return {kHole};
    text[0] = kHome;
  }
  return field.has_glob ? pattern_value(text) : text;
}

Word to_word(const Field& field) {
  Word word;
  word.span = field.span;
  word.text = field.text;
  word.known = std::erase_if(word.text, is_mark) == 0;
  if (!word.known && !has_hole(field.text)) word.shape = field.text;
  word.has_glob = field.has_glob;
  word.splits = field.splits;
  word.has_tilde = field.has_tilde;
  return word;
}

}  // namespace sbx::shell
