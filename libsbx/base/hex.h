// SPDX-License-Identifier: Apache-2.0
// Bytes → lower-case hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace sbx {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

inline void append_hex(std::string& out, unsigned char byte) {
  out += kHexDigits[byte >> 4];
  out += kHexDigits[byte & 15];
}

inline std::string to_hex(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char byte : bytes) append_hex(out, static_cast<unsigned char>(byte));
  return out;
}

inline bool is_hex(std::string_view text) {
  return text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

}  // namespace sbx
