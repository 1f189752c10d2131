// SPDX-License-Identifier: Apache-2.0
// Operation: slices, prefixes, suffixes, replacements and letter cases of plain strings.
#include "shell/operation.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/ascii.h"
#include "shell/marks.h"

namespace sbx::shell {
namespace {

bool is_plain(std::string_view pattern) {
  return pattern.find_first_of(std::string_view("*?[\\(|\0", 7)) == std::string_view::npos;
}

// A number with blanks around it, as ${x: -3} has it.
std::optional<std::int64_t> number(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string> slice(std::string_view value, std::string_view word) {
  const std::size_t colon = word.find(':');
  const auto size = static_cast<std::int64_t>(value.size());
  std::optional<std::int64_t> begin = number(word.substr(0, colon));
  std::optional<std::int64_t> count = size;
  if (colon != std::string_view::npos) count = number(word.substr(colon + 1));
  if (!begin || !count) return std::nullopt;
  if (*begin < 0) begin = *begin < -size ? size : size + *begin;
  begin = std::min(*begin, size);
  const std::int64_t end =
      *count < 0 ? size + std::max(*count, -size) : *begin + std::min(*count, size - *begin);
  if (end < *begin) return std::nullopt;
  return std::string(value.substr(*begin, end - *begin));
}

std::optional<std::string> replace(std::string_view operation, std::string_view value,
                                   std::string_view word, std::size_t slash) {
  const std::string_view pattern = word.substr(0, slash);
  const std::string_view by = slash == std::string_view::npos ? "" : word.substr(slash + 1);
  if (!is_plain(pattern) || by.find('&') != std::string_view::npos) return std::nullopt;
  std::string result(value);
  if (pattern.empty()) return result;
  if (operation == "/#") {
    if (result.starts_with(pattern)) result.replace(0, pattern.size(), by);
  } else if (operation == "/%") {
    if (result.ends_with(pattern))
      result.replace(result.size() - pattern.size(), pattern.size(), by);
  } else {
    std::string made;
    std::size_t at = 0;
    for (std::size_t found = value.find(pattern); found != std::string_view::npos;
         found = value.find(pattern, at)) {
      made += value.substr(at, found - at);
      made += by;
      at = found + pattern.size();
      if (operation == "/") break;
    }
    result = made.append(value.substr(at));
  }
  return result;
}

std::string with_case(std::string_view operation, std::string_view value) {
  std::string result(value);
  const std::size_t end =
      operation.size() == 2 ? result.size() : std::min<std::size_t>(1, result.size());
  for (std::size_t i = 0; i < end; ++i) {
    char& c = result[i];
    if (operation[0] == '^' && is_lower(c)) c = static_cast<char>(c - 'a' + 'A');
    if (operation[0] == ',' && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// The same where marks stand in the value: what holds whatever they stand for.
std::optional<std::string> apply_to_marks(std::string_view operation, std::string_view value,
                                          std::string_view word) {
  const bool is_maybe = may_be_empty(value);
  const std::size_t last =
      std::find_if(value.rbegin(), value.rend(), is_mark).base() - value.begin();
  const std::string_view tail = value.substr(last);  // plain text behind the last mark
  if (operation == "-" || operation == "=" || operation == "?" || operation == ":?") {
    return std::string(value);
  }
  if (operation == ":-" || operation == ":=") {
    if (!is_maybe) return std::string(value);
    return join_values({{kName}, std::string(word)});
  }
  if (operation == "+" || (operation == ":+" && !is_maybe)) return std::string(word);
  if (operation == ":" && value.size() == 1 && !is_place_mark(value[0])) return {{kMaybe}};
  if (has_mark(word)) return std::nullopt;
  if (operation == "%" && word == ".*") {
    const std::size_t dot = tail.rfind('.');
    if (dot != std::string_view::npos && tail.find('/', dot) == std::string_view::npos)
      return std::string(value.substr(0, last + dot));
    if (tail.empty() && !is_place_mark(value[last - 1]))
      return std::string(value.substr(0, last - 1)) + kMaybe;
    return std::nullopt;
  }
  if (operation == "%" && word == "/*") {  // the directory of it
    const std::size_t slash = tail.rfind('/');
    if (slash == std::string_view::npos) return std::nullopt;
    return std::string(value.substr(0, last + slash));
  }
  if (operation == "##" && word == "*/") {
    const std::size_t slash = value.rfind('/');
    const std::string_view name = slash == std::string_view::npos ? value : value.substr(slash + 1);
    if (name.empty() || is_place_mark(name[0])) return std::nullopt;
    return std::string(name);
  }
  if (!is_plain(word)) return std::nullopt;
  if (operation[0] == '%') {
    // A longer suffix may reach into what the mark stands for.
    if (tail.size() < word.size() && word.ends_with(tail)) return std::nullopt;
    if (tail.ends_with(word)) value.remove_suffix(word.size());
    return std::string(value);
  }
  if (operation[0] == '#' && (value.starts_with(word) || word == "./")) {
    if (value.starts_with(word)) value.remove_prefix(word.size());
    return std::string(value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> apply_operation(std::string_view operation, std::string_view value,
                                           std::string_view word, std::size_t slash) {
  if (value.size() == 1 && value[0] == kSelf && operation == "##" && word == "*/")
    return std::string(1, kName);
  if (!is_bounded(value) || !is_bounded(word)) return std::nullopt;
  if (has_mark(value)) return apply_to_marks(operation, value, word);
  if (operation == "-" || operation == "=" || operation == "?") return std::string(value);
  if (operation == ":-" || operation == ":=" || operation == ":?") {
    return std::string(value.empty() ? word : value);
  }
  if (operation == "+") return std::string(word);
  if (operation == ":+") return std::string(value.empty() ? "" : word);
  if (operation == ":") return slice(value, word);
  if (operation[0] == '/') return replace(operation, value, word, slash);
  if (operation[0] == '#' || operation[0] == '%') {
    if (!is_plain(word)) return std::nullopt;
    if (operation[0] == '#' && value.starts_with(word)) value.remove_prefix(word.size());
    if (operation[0] == '%' && value.ends_with(word)) value.remove_suffix(word.size());
    return std::string(value);
  }
  if ((operation[0] == '^' || operation[0] == ',') && word.empty()) {
    return with_case(operation, value);
  }
  return std::nullopt;
}

}  // namespace sbx::shell
