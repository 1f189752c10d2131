// SPDX-License-Identifier: Apache-2.0
// UTF-8: validation and repair. Values only.
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

}  // namespace sbx
