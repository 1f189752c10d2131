// SPDX-License-Identifier: Apache-2.0
// The grammar of RFC 8259, one function a production.
#include "json/scan.h"

#include <cstdint>
#include <cstring>

#include "base/ascii.h"

namespace sbx {

// Eight bytes at a time: a long string is most of a long document.
std::size_t end_of_plain(std::string_view text, std::size_t at) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kHigh = kOnes << 7;
  const auto has_less = [](std::uint64_t bytes, std::uint64_t than) {
    return ((bytes - kOnes * than) & ~bytes & kHigh) != 0;
  };
  // One escape may follow the other.
  const bool is_plain = at < text.size() && text[at] != '\\' && text[at] != '"';
  for (; is_plain && at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    if (has_less(bytes, 0x20) || has_less(bytes ^ (kOnes * '"'), 1) ||
        has_less(bytes ^ (kOnes * '\\'), 1)) {
      break;
    }
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x20 && text[at] != '"' &&
         text[at] != '\\') {
    ++at;
  }
  return at;
}

void JsonScan::skip_space() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
}

bool JsonScan::take(char c) {
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool JsonScan::word(std::string_view expected) {
  if (text_.substr(at_, expected.size()) != expected) return false;
  at_ += expected.size();
  return true;
}

bool JsonScan::digits() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  return at_ > begin;
}

bool JsonScan::number() {
  take('-');
  if (!take('0') && !digits()) return false;
  if (take('.') && !digits()) return false;
  if (!take('e') && !take('E')) return true;
  if (!take('+')) take('-');
  return digits();
}

std::optional<unsigned> JsonScan::hex4() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const int digit = hex_value(peek());
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit);
  }
  return value;
}

// Behind the backslash. Half a surrogate pair is refused: it is no character.
bool JsonScan::escape() {
  if (!take('u')) {
    if (at_ >= text_.size() ||
        std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos) {
      return false;
    }
    ++at_;
    return true;
  }
  const auto unit = hex4();
  if (!unit || (*unit >= 0xDC00 && *unit <= 0xDFFF)) return false;
  if (*unit < 0xD800 || *unit > 0xDBFF) return true;
  if (!word("\\u")) return false;
  const auto low = hex4();
  return low && *low >= 0xDC00 && *low <= 0xDFFF;
}

std::optional<std::string_view> JsonScan::string() {
  const std::size_t begin = at_;
  if (!take('"')) return std::nullopt;
  while ((at_ = end_of_plain(text_, at_)) < text_.size()) {
    const char c = text_[at_];
    if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
    ++at_;
    if (c == '"') return text_.substr(begin, at_ - begin);
    if (c == '\\' && !escape()) return std::nullopt;
  }
  return std::nullopt;
}

bool JsonScan::scalar() {
  switch (peek()) {
    case '"':
      return string().has_value();
    case 't':
      return word("true");
    case 'f':
      return word("false");
    case 'n':
      return word("null");
    default:
      return number();
  }
}

bool JsonScan::key() {
  skip_space();
  if (!string()) return false;
  skip_space();
  return take(':');
}

// Behind the bracket that opens a container which is not empty: what must stand before its first
// value.
bool JsonScan::opened() { return !in_object_.back() || key(); }

std::optional<std::string_view> JsonScan::value() {
  in_object_.clear();
  skip_space();
  const std::size_t begin = at_;
  for (;;) {
    skip_space();
    const bool is_object = peek() == '{';
    if (is_object || peek() == '[') {
      ++at_;
      in_object_.push_back(is_object);
      skip_space();
      if (peek() != (is_object ? '}' : ']')) {
        if (!opened()) return std::nullopt;
        continue;
      }
    } else if (!scalar()) {
      return std::nullopt;
    }
    // A value has ended, or an empty container is about to.
    for (;;) {
      if (in_object_.empty()) return text_.substr(begin, at_ - begin);
      skip_space();
      if (take(in_object_.back() ? '}' : ']')) {
        in_object_.pop_back();
        continue;
      }
      if (!take(',') || !opened()) return std::nullopt;
      break;
    }
  }
}

}  // namespace sbx
