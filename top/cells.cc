// SPDX-License-Identifier: Apache-2.0
// Character by character.
#include "cells.h"

#include <wchar.h>
#include <wctype.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace sbx {
namespace {

constexpr int kMostMarks = 2;  // upon one letter
constexpr std::array<std::pair<char32_t, char32_t>, 5> kMarks = {
    {{0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe20, 0xfe2f}}};

// Of text that is valid.
char32_t take(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  char32_t code = size == 1 ? first : first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  text.remove_prefix(size);
  return code;
}

bool is_mark(char32_t code) {
  for (const auto& [first, last] : kMarks) {
    if (code >= first && code <= last) return true;
  }
  return false;
}

std::wstring escaped(char32_t code) {
  static constexpr wchar_t kDigits[] = L"0123456789abcdef";
  std::wstring digits;
  for (; code != 0 || digits.size() < 4; code >>= 4) digits.insert(0, 1, kDigits[code & 15]);
  return L"\\u{" + digits + L"}";
}

}  // namespace

std::wstring to_cells(std::string_view text, Unseen unseen) {
  const std::string valid = repair_utf8(text);
  std::string_view rest = valid;
  std::wstring out;
  int marks = kMostMarks;  // nothing to stand upon yet
  while (!rest.empty()) {
    const char32_t code = take(rest);
    const auto character = static_cast<wchar_t>(code);
    // A space that is none to a shell.
    const bool is_hidden = unseen == Unseen::kEscape && (is_unseen(code) || code == 0xa0 ||
                                                         (code > 0x7f && iswspace(character)));
    if (code == '\t') {
      out += L"    ";
    } else if (is_mark(code) && marks < kMostMarks && wcwidth(character) == 0) {
      out += character;
      ++marks;
      continue;
    } else if (code >= 0x20 && wcwidth(character) > 0 && !is_hidden) {
      out += character;
      marks = 0;
      continue;
    } else if (unseen == Unseen::kEscape) {
      out += escaped(code);
    } else if (code >= 0xa0 && !is_mark(code) && wcwidth(character) < 0) {
      out += wcwidth(L'\ufffd') == 1 ? L'\ufffd' : L'?';  // this locale has no such character
    }
    marks = kMostMarks;
  }
  return out;
}

int columns_of(std::wstring_view cells) {
  int columns = 0;
  for (const wchar_t character : cells) columns += wcwidth(character) > 0 ? wcwidth(character) : 0;
  return columns;
}

std::wstring cut(std::wstring_view cells, int columns, bool fill) {
  std::wstring out;
  int used = 0;
  for (const wchar_t character : cells) {
    const int width = wcwidth(character);
    if (width > 0 && used + width > columns) break;
    used += width > 0 ? width : 0;
    out += character;
  }
  if (fill && used < columns) out.append(static_cast<std::size_t>(columns - used), L' ');
  return out;
}

std::vector<std::wstring> wrap(std::wstring_view cells, int columns) {
  std::vector<std::wstring> lines;
  do {
    std::wstring line = cut(cells, columns);
    if (line.empty() && !cells.empty()) line = cells.substr(0, 1);  // wider than all there is
    cells.remove_prefix(line.size());
    lines.push_back(std::move(line));
  } while (!cells.empty());
  return lines;
}

}  // namespace sbx
