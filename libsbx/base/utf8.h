// SPDX-License-Identifier: Apache-2.0
// UTF-8: validation, repair, and where a cut may fall. Values only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sbx {

// The length of the longest valid UTF-8 prefix (Unicode 15, table 3-7: no surrogates, no
// overlongs, nothing above U+10FFFF). ASCII runs go eight bytes at a time.
std::size_t valid_utf8_prefix(std::string_view bytes);

inline bool is_valid_utf8(std::string_view bytes) {
  return valid_utf8_prefix(bytes) == bytes.size();
}

// Each maximal ill-formed subsequence (Unicode 15, section 3.9, U+FFFD substitution of maximal
// subparts) becomes one U+FFFD; everything else stays.
std::string repair_utf8(std::string_view bytes);
void append_repaired_utf8(std::string& out, std::string_view bytes);

// How many bytes at the end are the well-formed beginning of a character that more bytes could
// complete (0 to 3).
std::size_t cut_character_suffix(std::string_view bytes);

// How many continuation bytes stand at the start, at most 3: the rest of a character cut before.
std::size_t cut_character_prefix(std::string_view bytes);

// A stream that is cut anywhere → valid UTF-8, the same as if it had come in one piece. Holds back
// at most three bytes.
class Utf8Stream {
 public:
  std::string append(std::string_view bytes);
  // The end: what was held back is ill-formed.
  std::string finish();

 private:
  std::string held_;
};

}  // namespace sbx
