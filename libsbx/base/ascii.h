// SPDX-License-Identifier: Apache-2.0
// Which kind of ASCII character a byte is, whatever the locale.
#pragma once

namespace sbx {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
// One bit tells upper from lower case.
constexpr bool is_letter(char c) { return is_lower(static_cast<char>(c | 0x20)); }
// Called, not copied into each loop over the letters of a name: a KiB less.
[[gnu::noinline]] constexpr bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
// DEL too; whatever the sign of a char is.
constexpr bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }
constexpr bool is_hex_digit(char c) {
  return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}
// Of a hexadecimal digit, in either case; -1 of anything else.
constexpr int hex_value(char c) {
  return is_digit(c) ? c - '0' : is_hex_digit(c) ? (c | 0x20) - 'a' + 10 : -1;
}

}  // namespace sbx
