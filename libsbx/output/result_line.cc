// SPDX-License-Identifier: Apache-2.0
// Finding result lines, and a validator of JSON that builds nothing and does not recurse.
#include "output/result_line.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/ascii.h"
#include "base/utf8.h"

namespace sbx {
namespace {

constexpr std::string_view kMark = "__RESULT__:";

class JsonCheck {
 public:
  JsonCheck(std::string_view text, int deepest)
      : text_(text), deepest_(static_cast<std::size_t>(deepest)) {}

  std::string run() {
    skip_space();
    if (peek() != '{') return "it does not begin with {";
    do {
      if (!(take_closing() || take_value())) return problem();
      if (open_.empty()) break;
      skip_space();
    } while (at_ < text_.size());
    if (!open_.empty()) return "it ends too early";
    skip_space();
    return at_ == text_.size() ? "" : "text follows the object";
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) < 4) ++at_;
  }

  std::string problem() const {
    return too_deep_ ? "it is nested too deeply" : "not JSON at byte " + std::to_string(at_);
  }

  bool take_closing() {
    if (open_.empty() || after_comma_ || peek() != open_.back()) return false;
    ++at_;
    open_.pop_back();
    has_member_ = true;
    return true;
  }

  // A value with what must stand before it: a comma, a key.
  bool take_value() {
    if (!open_.empty()) {
      if (has_member_ && !after_comma_) {
        if (!take(',')) return false;
        after_comma_ = true;
        return true;
      }
      if (open_.back() == '}') {
        if (!take_string()) return false;
        skip_space();
        if (!take(':')) return false;
        skip_space();
      }
    }
    after_comma_ = false;
    if (peek() == '{' || peek() == '[') return open_container();
    has_member_ = true;
    return take_scalar();
  }

  bool open_container() {
    too_deep_ = open_.size() == deepest_;
    if (too_deep_) return false;
    open_.push_back(text_[at_++] == '{' ? '}' : ']');
    has_member_ = false;
    return true;
  }

  bool take_scalar() {
    if (peek() == '"') return take_string();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return true;
      }
    }
    return take_number();
  }

  bool take_digits() {
    const std::size_t from = at_;
    while (is_digit(peek())) ++at_;
    return at_ > from;
  }

  // A number that no double holds is valid JSON that many a parser refuses: refused here, too.
  bool take_number() {
    const std::size_t from = at_;
    take('-');
    if (!take('0') && !take_digits()) return false;
    if (take('.') && !take_digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!take_digits()) return false;
    }
    const std::string number(text_.substr(from, at_ - from));
    return std::isfinite(std::strtod(number.c_str(), nullptr));
  }

  bool take_string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return false;
      ++at_;
      if (c == '"') return true;
      if (c == '\\' && !take_escape()) return false;
    }
    return false;
  }

  // Four hexadecimal digits.
  std::optional<unsigned> take_unit() {
    const std::string_view digits = text_.substr(at_, 4);
    if (digits.size() < 4 || !std::all_of(digits.begin(), digits.end(), is_hex_digit))
      return std::nullopt;
    at_ += 4;
    return static_cast<unsigned>(std::strtoul(std::string(digits).c_str(), nullptr, 16));
  }

  bool take_escape() {
    if (take('u')) {
      const auto unit = take_unit();
      if (!unit) return false;
      // Half of a pair is a character to no reader of the answer that it would stand in.
      if (*unit >= 0xDC00 && *unit < 0xE000) return false;
      if (*unit < 0xD800 || *unit >= 0xE000) return true;
      if (!take('\\') || !take('u')) return false;
      const auto low = take_unit();
      return low && *low >= 0xDC00 && *low < 0xE000;
    }
    if (at_ == text_.size() || std::string_view("\"\\/bfnrt").find(text_[at_]) > 7) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t deepest_;
  std::size_t at_ = 0;
  std::vector<char> open_;  // the brackets that will close what is open
  bool has_member_ = false;
  bool after_comma_ = false;
  bool too_deep_ = false;
};

}  // namespace

std::string json_object_problem(std::string_view text, int deepest) {
  if (!is_valid_utf8(text)) return "it is not UTF-8";
  return JsonCheck(text, deepest).run();
}

void ResultLine::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    if (!skipping_) extend_line(bytes.substr(0, newline));
    if (newline == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(newline + 1);
  }
}

void ResultLine::extend_line(std::string_view part) {
  if (line_.size() < kMark.size()) {
    const std::string_view first = part.substr(0, kMark.size() - line_.size());
    line_ += first;
    part.remove_prefix(first.size());
    skipping_ = !kMark.starts_with(line_);
  }
  too_long_ = !skipping_ && part.size() > kLongestLine - line_.size();
  skipping_ = skipping_ || too_long_;
  if (skipping_) {
    line_.clear();
  } else {
    line_ += part;
  }
}

void ResultLine::finish() { end_line(); }

void ResultLine::end_line() {
  if (too_long_ || (!skipping_ && line_.size() >= kMark.size())) {
    std::string_view text = too_long_ ? std::string_view() : line_;
    if (!too_long_) text.remove_prefix(kMark.size());
    if (text.ends_with('\r')) text.remove_suffix(1);
    const std::string problem =
        too_long_ ? "the line is longer than 256 KiB" : json_object_problem(text, kDeepest);
    if (problem.empty()) {
      json_ = text;
    } else {
      ++invalid_lines_;
      problem_ = problem;
    }
  }
  line_.clear();
  skipping_ = too_long_ = false;
}

}  // namespace sbx
