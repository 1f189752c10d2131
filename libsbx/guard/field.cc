// SPDX-License-Identifier: Apache-2.0
// Field → the word that users of a reading see.
#include "guard/field.h"

#include <algorithm>

namespace sbx {

std::optional<std::string_view> program_name(const Field& field) {
  std::string_view name = field.text;
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  if (field.has_glob || name.empty() || name.find(kHole) != std::string_view::npos) {
    return std::nullopt;
  }
  return name;
}

Word to_word(const Field& field) {
  Word word;
  word.span = field.span;
  word.text = field.text;
  const auto end = std::remove(word.text.begin(), word.text.end(), kHole);
  word.known = end == word.text.end();
  word.text.erase(end, word.text.end());
  word.has_glob = field.has_glob;
  word.splits = field.splits;
  word.has_tilde = field.has_tilde;
  return word;
}

}  // namespace sbx
