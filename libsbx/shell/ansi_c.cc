// SPDX-License-Identifier: Apache-2.0
// ANSI-C escapes: one forward scan.
#include "shell/ansi_c.h"

#include <cstdint>

#include "base/ascii.h"
#include "shell/marks.h"

namespace sbx::shell {
namespace {

// Up to `max` digits of `base` from `at` on; `at` moves behind them.
std::uint32_t number(std::string_view text, std::size_t& at, std::size_t max, std::uint32_t base) {
  std::uint32_t value = 0;
  for (const std::size_t end = at + max; at < text.size() && at < end; ++at) {
    const int digit = hex_value(text[at]);
    if (digit < 0 || static_cast<std::uint32_t>(digit) >= base) break;
    value = value * base + static_cast<std::uint32_t>(digit);
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&out](std::uint32_t value) {
    const char c = static_cast<char>(value);
    out += is_mark(c) ? kHole : c;
  };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x110000) {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

char simple_escape(char c) {
  static constexpr std::string_view kNames = "abeEfnrtv\\'\"?";
  static constexpr std::string_view kValues = "\a\b\033\033\f\n\r\t\v\\'\"?";
  const std::size_t at = kNames.find(c);
  return at == std::string_view::npos ? '\0' : kValues[at];
}

// Decodes the escape behind the backslash at `at`. False: the text ends here.
bool decode_escape(std::string_view text, std::size_t& at, bool zero_leads, std::string& out) {
  const char c = text[at];
  const std::size_t digits = at + 1;
  if (const char simple = simple_escape(c)) {
    out += simple;
    ++at;
    return true;
  }
  std::uint32_t code = 0;
  if (c >= '0' && c <= '7') {
    code = number(text, at, zero_leads && c == '0' ? 4 : 3, 8) & 0xFF;
  } else if (c == 'x' || c == 'u' || c == 'U') {
    ++at;
    code = number(text, at, c == 'x' ? 2 : c == 'u' ? 4 : 8, 16);
    if (at == digits) {  // no digits: it stands for itself
      out += '\\';
      out += c;
      return true;
    }
    if (c != 'x' && code != 0) {
      append_utf8(out, code);
      return true;
    }
  } else if (c == 'c' && !zero_leads && digits < text.size()) {
    at += 2;
    code = static_cast<std::uint32_t>(text[digits]) & 0x1F;
  } else if (c == 'c') {
    return false;
  } else {
    out += '\\';
    out += c;
    ++at;
    return true;
  }
  if (code == 0) return false;
  const char made = static_cast<char>(code);
  out += is_mark(made) ? kHole : made;
  return true;
}

std::string decode(std::string_view text, bool zero_leads) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      out += text[at++];
    } else if (!decode_escape(text, ++at, zero_leads, out)) {
      break;
    }
  }
  return out;
}

}  // namespace

std::string decode_ansi_c(std::string_view text) { return decode(text, false); }
std::string decode_printf(std::string_view text) { return decode(text, true); }

}  // namespace sbx::shell
