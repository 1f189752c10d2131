// SPDX-License-Identifier: Apache-2.0
// Encoders differ in what they escape, whether by its name or its number, and in the number's form.
#include "http/spellings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <span>

#include "base/utf8.h"

namespace sbx::http {
namespace {

struct Name {
  char byte;
  std::string_view text;
};
using Names = std::span<const Name>;

struct Number {
  std::string_view before;
  int base;
  bool is_upper;
  std::size_t digits;  // at least
  bool is_utf16;
  std::string_view after;
};

struct Family {
  std::span<const Names> names;
  std::span<const std::string_view> numbered;  // sets of bytes
  std::span<const Number> numbers;
};

// The defaults of Go, Rails, Flask, Gson, PHP (JSON_HEX_*), .NET and of serialize-javascript.
constexpr Name kJsonRows[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'/', "\\/"}};
constexpr Names kJsonNames[] = {Names(kJsonRows).first(2), kJsonRows};
constexpr std::string_view kJsonNumbered[] = {"",      "<>",     "&<>",      "&<>'",
                                              "&<>'=", "&<>'\"", "&<>'\"+`", "<>/"};
constexpr Number kJsonNumbers[] = {{"\\u", 16, false, 4, true, ""}, {"\\u", 16, true, 4, true, ""}};

// XML's, for text, for attributes, PHP's; beside these numbers as of Go, Python, .NET, mustache.
constexpr Name kHtmlRows[] = {{'\'', "&apos;"}, {'&', "&amp;"},  {'<', "&lt;"},
                              {'>', "&gt;"},    {'"', "&quot;"}, {'\'', "&#039;"}};
constexpr Names kHtmlNames[] = {Names(kHtmlRows).first(5), Names(kHtmlRows).subspan(1, 3),
                                Names(kHtmlRows).subspan(1, 4), Names(kHtmlRows).subspan(1)};
constexpr std::string_view kHtmlNumbered[] = {"", "'", "\"'", "+", "'+", "\"'+", "/`=", "'/`="};
constexpr Number kHtmlNumbers[] = {{"&#", 10, false, 1, false, ";"},
                                   {"&#x", 16, false, 1, false, ";"},
                                   {"&#x", 16, true, 1, false, ";"}};

constexpr Family kFamilies[] = {{kJsonNames, kJsonNumbered, kJsonNumbers},
                                {kHtmlNames, kHtmlNumbered, kHtmlNumbers}};

std::string by_number(std::uint32_t code, const Number& number) {
  if (number.is_utf16 && code > 0xffff) {
    code -= 0x10000;
    return by_number(0xd800 + (code >> 10), number) + by_number(0xdc00 + (code & 0x3ff), number);
  }
  std::array<char, 16> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), code, number.base);
  std::string digits(text.data(), static_cast<std::size_t>(end.ptr - text.data()));
  digits.insert(0, number.digits - std::min(number.digits, digits.size()), '0');
  for (char& c : digits) {
    if (number.is_upper && c >= 'a') c = static_cast<char>(c - 'a' + 'A');
  }
  return std::string(number.before) + digits + std::string(number.after);
}

// The first character of what is valid UTF-8 and no ASCII, and its length.
std::pair<std::uint32_t, std::size_t> character_at(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  std::uint32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  return {code, size};
}

std::string spelled(std::string_view text, Names names, std::string_view numbered,
                    const Number& number, bool is_ascii) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto name =
        std::find_if(names.begin(), names.end(), [c](const Name& each) { return each.byte == c; });
    if (numbered.find(c) != std::string_view::npos) {
      out += by_number(static_cast<unsigned char>(c), number);
    } else if (name != names.end()) {
      out += name->text;
    } else if (is_ascii && static_cast<unsigned char>(c) >= 0x80) {
      const auto [code, size] = character_at(text.substr(i));
      out += by_number(code, number);
      i += size - 1;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> spellings_of(std::string_view text) {
  std::vector<std::string> out;
  for (const Family& family : kFamilies) {
    for (const Names& names : family.names) {
      for (const std::string_view numbered : family.numbered) {
        for (const Number& number : family.numbers) {
          out.push_back(spelled(text, names, numbered, number, false));
          if (is_valid_utf8(text)) out.push_back(spelled(text, names, numbered, number, true));
        }
      }
    }
  }
  return out;
}

std::string read_as_latin1(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x80) out += static_cast<char>(0xc0U | code >> 6);
    out += static_cast<char>(code >= 0x80 ? 0x80U | (code & 0x3fU) : code);
  }
  return out;
}

}  // namespace sbx::http
