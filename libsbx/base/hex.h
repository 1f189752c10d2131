// SPDX-License-Identifier: Apache-2.0
// Bytes ⇄ hexadecimal digits, which are written in lower case.
#pragma once

#include <string>
#include <string_view>

#include "base/ascii.h"

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

// Empty where there is anything else among them.
inline std::string from_hex(std::string_view digits) {
  std::string out;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    const int high = hex_value(digits[i]);
    const int low = hex_value(digits[i + 1]);
    if (high < 0 || low < 0) return "";
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

inline bool is_hex(std::string_view text) {
  return text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

}  // namespace sbx
