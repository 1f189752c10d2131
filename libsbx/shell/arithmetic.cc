// SPDX-License-Identifier: Apache-2.0
// Arithmetic: one pass over its names and the operators beside them.
#include "shell/arithmetic.h"

#include <algorithm>
#include <utility>

#include "shell/parser.h"
#include "shell/parser_impl.h"

namespace sbx::shell {
namespace {

constexpr std::string_view kBlanks = " \t\n";
// What needs no value of its own kind: a division by nothing fails, and so does a negative power.
constexpr std::string_view kSure = " \t\n()[]+-*<>=!~&|^,?:";

std::string_view without_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}

// Behind the subscript that `text` begins with; as an assignment where that is too long.
std::string_view past_subscript(std::string_view text) {
  constexpr std::size_t kMostBytes = 256;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < std::min(text.size(), kMostBytes); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && --depth == 0) return text.substr(i + 1);
  }
  return "=";
}

bool changes_by_one(std::string_view text) {
  return text.starts_with("++") || text.starts_with("--");
}

// Whether an assignment begins `text`, and not a comparison; `takes`: which needs the old value.
bool is_assignment(std::string_view text, bool& takes) {
  takes = true;
  if (text.starts_with("<<=") || text.starts_with(">>=")) return true;
  if (text.size() > 1 && text[1] == '=' &&
      std::string_view("*/%+-&^|").find(text[0]) != std::string_view::npos) {
    return true;
  }
  takes = !text.starts_with('=') || text.starts_with("==");
  return !takes;
}

}  // namespace

ArithmeticNames arithmetic_names(std::string_view text) {
  ArithmeticNames out;
  const std::size_t condition =
      std::min({text.find("&&"), text.find("||"), text.find('?'), text.size()});
  out.may_fail = text.find("**") != std::string_view::npos;
  bool is_behind_operand = false;
  std::size_t changed = text.size();  // where what a ++ or -- in front changes begins
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (changes_by_one(rest)) {
      at += 2;
      changed = text.size() - without_blanks(text.substr(at)).size();
      is_behind_operand = false;
      continue;
    }
    if (!is_name_char(rest[0])) {
      const bool is_blank = kBlanks.find(rest[0]) != std::string_view::npos;
      out.may_fail = out.may_fail || kSure.find(rest[0]) == std::string_view::npos;
      is_behind_operand = is_behind_operand && is_blank;
      ++at;
      continue;
    }
    out.may_fail = out.may_fail || is_behind_operand;
    is_behind_operand = true;
    std::size_t length = 1;
    while (length < rest.size() && is_name_char(rest[length])) ++length;
    const std::string name(rest.substr(0, length));
    const std::size_t begin = std::exchange(at, at + length);
    if (!is_name(name)) continue;  // 0x1f
    const std::string_view behind = without_blanks(rest.substr(length));
    const bool is_element = behind.starts_with('[');
    const std::string_view operation = is_element ? without_blanks(past_subscript(behind)) : behind;
    const bool is_stepped = changes_by_one(operation);
    bool takes = true;
    if (begin == changed || is_stepped || is_assignment(operation, takes)) {
      out.assigned.push_back({name, begin < condition && !is_element});
    }
    if (takes) out.read.push_back(name);
    if (is_stepped && !is_element) at = text.size() - operation.size() + 2;
  }
  return out;
}

}  // namespace sbx::shell
