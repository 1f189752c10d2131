// SPDX-License-Identifier: Apache-2.0
// Digits of either case are read.
#include "base/percent.h"

#include "base/ascii.h"

namespace sbx {
namespace {

bool is_unreserved(char c) {
  return is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::optional<char> escape_at(std::string_view text, std::size_t at) {
  if (at + 2 >= text.size() || text[at] != '%') return std::nullopt;
  const int high = hex_value(text[at + 1]);
  const int low = hex_value(text[at + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::optional<char> byte = escape_at(text, i);
    out += byte.value_or(text[i]);
    if (byte) i += 2;
  }
  return out;
}

std::string percent_encoded(std::string_view text, std::string_view kept, bool is_upper_case) {
  const std::string_view digits = is_upper_case ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c) || kept.find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

}  // namespace sbx
