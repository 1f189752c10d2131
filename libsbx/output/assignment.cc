// SPDX-License-Identifier: Apache-2.0
// Reading an assignment around a place in a line: by hand, since it runs wherever a log says "key".
#include "output/assignment.h"

#include <algorithm>

namespace sbx {
namespace {

constexpr std::size_t kLongestName = 80;
constexpr std::size_t kMostSpaces = 16;

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
bool is_name_char(char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; }
bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

char at_or_nul(std::string_view text, std::size_t at) { return at < text.size() ? text[at] : '\0'; }

std::size_t skip_spaces(std::string_view line, std::size_t at) {
  const std::size_t most = std::min(line.size(), at + kMostSpaces);
  while (at < most && is_space(line[at])) ++at;
  return at;
}

// Past one of = : := => ?= ||= >, or at npos. `==`, `::` and `=~` assign nothing.
std::size_t skip_operator(std::string_view line, std::size_t at, bool in_tag) {
  const char c = at_or_nul(line, at);
  const char next = at_or_nul(line, at + 1);
  if (in_tag && c == '>') return at + 1;
  if (c == '=' && next == '>') return at + 2;
  if (c == '=' && next != '=' && next != '~') return at + 1;
  if (c == ':' && next == '=') return at + 2;
  if (c == ':' && next != ':') return at + 1;
  if (c == '?' && next == '=') return at + 2;
  if (c == '|' && next == '|' && at_or_nul(line, at + 2) == '=') return at + 3;
  return std::string_view::npos;
}

// Past what may close a name: a quote, an escaped quote, a bracket.
std::size_t skip_name_close(std::string_view line, std::size_t at) {
  if (at_or_nul(line, at) == '\\' && is_quote(at_or_nul(line, at + 1))) ++at;
  if (is_quote(at_or_nul(line, at))) ++at;
  if (at_or_nul(line, at) == ']') ++at;
  return at;
}

struct Quote {
  char mark = '\0';
  bool escaped = false;  // \" as in JSON within JSON
};

Quote skip_opening_quote(std::string_view line, std::size_t& at) {
  Quote quote;
  // r"…", b'…', f"…", $'…' and the like
  if (at_or_nul(line, at) != '\0' && std::string_view("rbfuL$@").find(line[at]) < 7 &&
      is_quote(at_or_nul(line, at + 1))) {
    ++at;
  }
  if (at_or_nul(line, at) == '\\' && is_quote(at_or_nul(line, at + 1))) {
    quote.escaped = true;
    ++at;
  }
  if (is_quote(at_or_nul(line, at))) quote.mark = line[at++];
  return quote;
}

std::size_t quoted_end(std::string_view line, std::size_t at, Quote quote) {
  for (; at < line.size(); ++at) {
    if (quote.escaped && line[at] == '\\' && at_or_nul(line, at + 1) == quote.mark) return at;
    if (!quote.escaped && line[at] == '\\') {
      ++at;
    } else if (line[at] == quote.mark) {
      return at;
    }
  }
  return line.size();
}

std::size_t unquoted_end(std::string_view line, std::size_t at, bool in_query, bool in_tag) {
  int open = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (is_space(c) || is_quote(c) || c == ',' || c == ';' || c == '<' || c == '\r') return at;
    if (in_query && (c == '&' || c == '#')) return at;
    if (c == '>' && !in_tag) return at;
    if (c == '\\' && std::string_view("nrt\"'").find(at_or_nul(line, at + 1)) < 5) return at;
    if (c == '(' || c == '[' || c == '{') ++open;
    if ((c == ')' || c == ']' || c == '}') && --open < 0) return at;
  }
  return at;
}

bool only_spaces(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_space(c) || c == '\r'; });
}

// What may stand before a name that begins its line: indentation, `- `, `export `, `+ `, a quote.
bool begins_line(std::string_view before) {
  for (const std::string_view lead : {"export ", "set ", "declare -x ", "ENV ", "-e "}) {
    if (before.ends_with(lead)) before.remove_suffix(lead.size());
  }
  return std::all_of(before.begin(), before.end(), [](char c) {
    return is_space(c) || is_quote(c) || c == '-' || c == '+' || c == '{' || c == '>';
  });
}

bool is_upper_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_type_annotation(std::string_view line, std::size_t begin, std::size_t end) {
  const std::size_t next = skip_spaces(line, end);
  return end > begin && at_or_nul(line, next) == '=' && at_or_nul(line, next + 1) != '=';
}

std::optional<NamedValue> read_in_line(std::string_view line, std::size_t at) {
  std::size_t begin = at;
  std::size_t end = at;
  const std::size_t leftmost = at - std::min(at, kLongestName);
  const std::size_t rightmost = std::min(line.size(), at + kLongestName);
  while (begin > leftmost && is_name_char(line[begin - 1])) --begin;
  while (end < rightmost && is_name_char(line[end])) ++end;
  NamedValue found;
  const std::string_view dashed = line.substr(begin, end - begin);
  found.name = dashed.substr(std::min(dashed.find_first_not_of("-."), dashed.size()));
  found.flag = dashed.starts_with("--");
  if (begin > 0 && (line[begin - 1] == '/' || line[begin - 1] == '\\')) {
    // A file's name, unless it is an escape: "\nPASSWORD=…".
    if (line[begin - 1] == '/' || found.name.size() < 2) return std::nullopt;
    if (std::string_view("nrt").find(found.name[0]) < 3) found.name.remove_prefix(1);
  }
  const char before = begin > 0 ? line[begin - 1] : '\0';
  const bool in_tag = before == '<';
  const bool in_query = before == '?' || before == '&';

  const std::size_t closed = skip_name_close(line, end);
  std::size_t place = skip_spaces(line, closed);
  const std::size_t after = skip_operator(line, place, in_tag);
  if (after != std::string_view::npos) {
    found.spaced = place != closed;
    const bool equals = line[after - 1] == '=' && after == place + 1;
    found.tight = equals && !found.spaced;
    found.env_style = found.tight && begins_line(line.substr(0, begin));
    if (before == ':' && line[place] == ':') return std::nullopt;  // arn:…:secret:name
    // 'Password:', next: a prompt in quotes.
    if (is_quote(before) && closed == end && at_or_nul(line, after) == before) return std::nullopt;
    place = skip_spaces(line, after);
    if (line[after - 1] == ':') {
      const std::size_t type_end = unquoted_end(line, place, in_query, in_tag);
      if (is_type_annotation(line, place, type_end)) {
        place = skip_spaces(line, skip_spaces(line, type_end) + 1);
      }
    }
  } else if (!found.flag || place == closed || at_or_nul(line, place) == '-') {
    return std::nullopt;  // not `--name value` either
  }
  const Quote quote = skip_opening_quote(line, place);
  found.quoted = quote.mark != '\0' || in_tag;
  found.value_begin = place;
  const std::size_t value_end =
      found.quoted ? quoted_end(line, place, quote) : unquoted_end(line, place, in_query, in_tag);
  found.value = line.substr(place, value_end - place);
  const std::string_view rest = line.substr(value_end);
  // The output of env(1): a value may hold anything, and ends with its line.
  const bool to_line_end =
      found.env_style && begin == 0 && !found.quoted && is_upper_name(found.name);
  found.value_end = to_line_end ? line.size() - (line.ends_with('\r') ? 1 : 0) : value_end;
  found.whole_line = begins_line(line.substr(0, begin)) &&
                     only_spaces(quote.mark != '\0' && !rest.empty() ? rest.substr(1) : rest);
  if (!found.quoted && !rest.empty()) {
    // `Password=x;` is a connection string, `password = x;` is code.
    found.in_code = std::string_view(",)([").find(rest[0]) < 4 || (rest[0] == ';' && found.spaced);
  }
  return found;
}

}  // namespace

std::optional<NamedValue> read_assignment(std::string_view line, std::size_t at) {
  // A NUL byte ends an assignment as a newline does: `env -0`, /proc/PID/environ.
  const std::size_t nul = line.rfind('\0', at);
  const std::size_t begin = nul == std::string_view::npos ? 0 : nul + 1;
  if (begin > at) return std::nullopt;
  std::optional<NamedValue> found =
      read_in_line(line.substr(begin, line.find('\0', at) - begin), at - begin);
  if (found) {
    found->value_begin += begin;
    found->value_end += begin;
  }
  return found;
}

}  // namespace sbx
