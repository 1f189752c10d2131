// SPDX-License-Identifier: Apache-2.0
// Reading an assignment around a place in a line: by hand, since it runs wherever a log says "key".
#include "output/assignment.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr std::size_t kLongestName = 80;
constexpr std::size_t kMostSpaces = 16;
constexpr std::size_t kLongestString = 256;
constexpr std::string_view kCharacterData = "<![CDATA[";

bool is_name_char(char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; }
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

// Whether a value that seems to end before line[at] goes on there: nothing ends it but a space, a
// closing mark or a separator.
bool goes_on(std::string_view line, std::size_t at) {
  const char c = at_or_nul(line, at);
  return is_alphanumeric(c) ||
         (c != '\0' && std::string_view("!#%^*_-+@$~?/.=").find(c) != std::string_view::npos);
}

// How many backslashes stand at line[at], a few at most.
std::size_t backslashes(std::string_view line, std::size_t at) {
  constexpr std::size_t kMost = 16;
  std::size_t count = 0;
  while (count < kMost && at_or_nul(line, at + count) == '\\') ++count;
  return count;
}

std::size_t quoted_end(std::string_view line, std::size_t at, Quote quote) {
  for (const std::size_t begin = at; at < line.size(); ++at) {
    if (quote.escaped && line[at] == '\\') {
      // \" closes, \\\" is a quote within; a quote alone ends the text around.
      const std::size_t count = backslashes(line, at);
      const bool before_mark = at_or_nul(line, at + count) == quote.mark;
      if (before_mark && count % 2 == 0) return at + count;
      if (before_mark && count / 2 % 2 == 0) return at + count - 1;
      at += count - (before_mark ? 0 : 1);
      continue;
    }
    if (!quote.escaped && line[at] == '\\') {
      ++at;
    } else if (line[at] == quote.mark) {
      // A quote within, as a shell writes it, and doubled, as SQL and YAML do.
      if (at > begin && line.substr(at, 4) == "'\\''") {
        at += 3;
      } else if (at > begin && line[at - 1] != '\\' && at_or_nul(line, at + 1) == quote.mark &&
                 goes_on(line, at + 2)) {
        ++at;
      } else {
        return at;
      }
    }
  }
  return line.size();
}

std::size_t unquoted_end(std::string_view line, std::size_t at, bool in_query, bool in_tag) {
  int open = 0;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (is_space(c) || is_quote(c) || c == '<' || c == '\r') return at;
    if ((c == ',' || c == ';') && !(in_query && goes_on(line, at + 1))) return at;
    if (in_query && (c == '&' || c == '#')) return at;
    if (c == '>' && !in_tag) return at;
    if (c == '\\' && std::string_view("nrt\"'").find(at_or_nul(line, at + 1)) < 5) return at;
    if (c == '(' || c == '[' || c == '{') ++open;
    if ((c == ')' || c == ']' || c == '}') && --open < 0) return at;
  }
  return at;
}

// Whether `name=`, `name:` or `some name=` stands at line[at].
bool is_name_before_value(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && (is_name_char(line[end]) || line[end] == ' ')) ++end;
  return end > at && (at_or_nul(line, end) == '=' || at_or_nul(line, end) == ':');
}

// <name>, <name …>, </name>, <!--
bool starts_tag(std::string_view line, std::size_t at) {
  if (at_or_nul(line, at) != '<') return false;
  const char next = at_or_nul(line, at + 1);
  if (next == '/' || next == '!') return true;
  const std::size_t begin = at + 1;
  std::size_t end = begin;
  while (end < line.size() && end - begin < kLongestName && is_name_char(line[end])) ++end;
  const char last = at_or_nul(line, end);
  return end > begin && (last == '>' || last == '/' || is_space(last));
}

// A password may hold what ends other values: how far the one whose simple end is `at` goes on.
// In a connection string (`…;Password=x;…`) nothing but a semicolon ends it.
std::size_t password_end(std::string_view line, std::size_t at, bool in_list, bool to_space) {
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '\r' || c == '\0') return at;
    if (c == '<' || c == '>') {
      if (!(in_list || to_space) || !goes_on(line, at + 1) || starts_tag(line, at)) return at;
    } else if (c == '\\' && is_space(at_or_nul(line, at + 1))) {
      ++at;
    } else if (is_space(c)) {
      const std::size_t next = in_list ? line.find(';', at) : std::string_view::npos;
      if (next == std::string_view::npos || !is_name_before_value(line, next + 1) ||
          is_name_before_value(line, at + 1)) {
        return at;
      }
    } else if (c == ';' || c == ',') {
      if ((c == ';' && in_list) || is_name_before_value(line, at + 1)) return at;
      if (!in_list && !goes_on(line, at + 1)) return at;
    } else if (is_quote(c) || c == ')' || c == ']' || c == '}') {
      const bool before_next = in_list && !is_quote(c) && at_or_nul(line, at + 1) == ';' &&
                               is_name_before_value(line, at + 2);
      if (!goes_on(line, at + 1) && !before_next) return at;
      if (!to_space && !in_list && !is_quote(c)) return at;
    } else if (c == '\\' && std::string_view("nrt\"'").find(at_or_nul(line, at + 1)) < 5) {
      return at;
    }
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
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

bool is_type_annotation(std::string_view line, std::size_t begin, std::size_t end) {
  const std::size_t next = skip_spaces(line, end);
  return end > begin && at_or_nul(line, next) == '=' && at_or_nul(line, next + 1) != '=';
}

// Past `||`, `??`, `?:` or `or`, which give a default; npos where there is none.
std::size_t skip_or(std::string_view line, std::size_t at) {
  for (const std::string_view word : {"||", "??", "?:", "or "}) {
    if (line.substr(at, word.size()) == word) return at + word.size();
  }
  return std::string_view::npos;
}

// Past `.unwrap_or(` and the like; npos where there is none.
std::size_t skip_default_call(std::string_view line, std::size_t at) {
  for (const std::string_view call :
       {".unwrap_or(", ".unwrap_or_else(|_| ", ".default(", ".orElse(", ".getOrElse(", ".or("}) {
    if (line.substr(at, call.size()) == call) return at + call.size();
  }
  return std::string_view::npos;
}

// Past `default=`, `defaultValue: ` before an argument.
std::size_t skip_argument_name(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && is_alphanumeric(line[end])) ++end;
  if (end == at) return at;
  const std::size_t sign = skip_spaces(line, end);
  const char c = at_or_nul(line, sign);
  return c == '=' || c == ':' ? skip_spaces(line, sign + 1) : at;
}

bool opens_quote(std::string_view line, std::size_t at) {
  const bool prefixed =
      at_or_nul(line, at) != '\0' && std::string_view("rbfuL$@").find(line[at]) < 7;
  return is_quote(at_or_nul(line, at)) || (prefixed && is_quote(at_or_nul(line, at + 1)));
}

// Where the value of a call or a default begins, whose name is line[begin, end); npos: nowhere.
// f("NAME", "value"), f("NAME") or "value", setName("value"), NAME || "value", #define NAME "value"
std::size_t find_argument(std::string_view line, std::size_t begin, std::size_t end) {
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t at = kNone;
  const bool quoted =
      begin > 0 && is_quote(line[begin - 1]) && at_or_nul(line, end) == line[begin - 1];
  std::size_t place = skip_spaces(line, quoted ? end + 1 : end);
  const char c = at_or_nul(line, place);
  if (quoted && c == ',') {
    std::size_t before = begin - 1;
    while (before > 0 && is_space(line[before - 1])) --before;
    if (before == 0 || line[before - 1] != '(') return kNone;
    at = skip_argument_name(line, skip_spaces(line, place + 1));
  } else if (quoted && (c == ')' || c == ']')) {
    at = skip_or(line, skip_spaces(line, place + 1));
    if (at == kNone) at = skip_default_call(line, place + 1);
  } else if (!quoted && c == '(' && place == end) {
    at = place + 1;
  } else if (!quoted) {
    const bool defined = line.substr(0, begin).ends_with("#define ");
    at = defined && place > end ? place : skip_or(line, place);
  }
  if (at == kNone) return kNone;
  at = skip_spaces(line, at);
  return opens_quote(line, at) ? at : kNone;
}

// Whether line[0, at) ends in `name:`, `"key": ` or `key=`: what stands behind it is the name of a
// value that follows.
bool says_name(std::string_view line, std::size_t at) {
  const auto skip_back = [&](auto test) {
    while (at > 0 && test(line[at - 1])) --at;
  };
  skip_back(is_space);
  if (at == 0 || (line[at - 1] != ':' && line[at - 1] != '=')) return false;
  --at;
  skip_back(is_space);
  skip_back([](char c) { return is_quote(c) || c == '\\'; });
  const std::size_t end = at;
  while (at > 0 && end - at < kLongestName && is_alphanumeric(line[at - 1])) --at;
  const std::string word = lower_case(line.substr(at, end - at));
  return word == "name" || word == "key" || word == "id" || word == "parameterkey";
}

// Past `value: `, `"value": ` or `value=` at line[at]; npos: it is none.
std::size_t skip_value_name(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && end - at < kLongestName && is_alphanumeric(line[end])) ++end;
  const std::string word = lower_case(line.substr(at, end - at));
  if (word != "value" && word != "parametervalue") return std::string_view::npos;
  const std::size_t place = skip_spaces(line, skip_name_close(line, end));
  const char c = at_or_nul(line, place);
  return c == ':' || c == '=' ? skip_spaces(line, place + 1) : std::string_view::npos;
}

// Where the value begins that is given beside its name, which is line[begin, end); npos: nowhere.
// {"name": "NAME", "value": "x"}, {name: NAME, value: x}, <a key="NAME" value="x"/>,
// <a name="NAME">x</a>, <a name="NAME"><value>x</value></a>
std::size_t find_value_beside(std::string_view line, std::size_t begin, std::size_t end) {
  constexpr std::size_t kNone = std::string_view::npos;
  while (begin > 0 && (is_quote(line[begin - 1]) || line[begin - 1] == '\\')) --begin;
  if (!says_name(line, begin)) return kNone;
  const std::string_view near = line.substr(0, end + kLongestString);
  for (std::size_t at = end; at < near.size(); ++at) {
    const char c = near[at];
    if (c == '{' || c == '}' || c == '<') return kNone;
    if (c == '>') {
      at = skip_spaces(line, at + 1);
      return line.substr(at).starts_with("<value>") ? at + std::string_view("<value>").size() : at;
    }
    const bool may_be =
        (c == 'v' || c == 'V' || c == 'p' || c == 'P') && !is_alphanumeric(near[at - 1]);
    const std::size_t value = may_be ? skip_value_name(near, at) : kNone;
    if (value != kNone) return value;
  }
  return kNone;
}

// Past the call at line[at] that makes a string's value of another type: String::from("…"),
// SecretStr("…"). `at` where there is none.
std::size_t skip_conversion(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && (is_alphanumeric(line[end]) || line[end] == '_' || line[end] == '.' ||
                               line[end] == ':' || line[end] == '&')) {
    ++end;
  }
  if (end == at || at_or_nul(line, end) != '(' || !opens_quote(line, end + 1)) return at;
  const std::string_view name = line.substr(at, end - at);
  for (const std::string_view call :
       {"String::from", "Buffer.from", "SecretStr", "SecretString", "Secret::new", "str", "bytes",
        "bytes.fromhex", "b64decode", "atob", "SecretString::new", "NSString", "Data"}) {
    if (name == call ||
        (name.ends_with(call) && !is_alphanumeric(name[name.size() - call.size() - 1]))) {
      return end + 1;
    }
  }
  return at;
}

// Where the value in braces ends whose brace opens at line[at], as ODBC has it (`Pwd={x};`, with
// `}}` for a brace within); npos where there is none.
std::size_t braced_end(std::string_view line, std::size_t at, bool in_list) {
  if (at_or_nul(line, at) != '{') return std::string_view::npos;
  const std::string_view value = line.substr(0, at + kLongestString);
  for (std::size_t end = value.find('}', at); end < value.size(); end = value.find('}', end + 2)) {
    if (at_or_nul(line, end + 1) == '}') continue;
    return in_list || at_or_nul(line, end + 1) == ';' ? end : std::string_view::npos;
  }
  return std::string_view::npos;
}

// Where the text of an element ends that begins at line[at].
std::size_t element_end(std::string_view line, std::size_t at) {
  if (line.substr(0, at).ends_with(kCharacterData))
    return std::min(line.find("]]>", at), line.size());
  std::size_t end = line.find('<', at);
  if (end == std::string_view::npos) return line.size();
  while (end > at && (is_space(line[end - 1]) || line[end - 1] == '\r')) --end;
  return end;
}

// Past the tag of the element whose name ends at line[at], where its text follows and then the
// tag that closes it: <name>text</name>, <name a="b">text</name>. npos: none.
std::size_t find_text(std::string_view line, std::size_t at) {
  if (!is_space(at_or_nul(line, at)) && at_or_nul(line, at) != '>') return std::string_view::npos;
  const std::size_t close = line.substr(0, at + kLongestString).find_first_of("<>", at);
  if (close >= line.size() || line[close] != '>') return std::string_view::npos;
  const std::size_t next = line.find('<', close);
  const bool closed = close == at || (next < line.size() && at_or_nul(line, next + 1) == '/');
  return closed ? close + 1 : std::string_view::npos;
}

// Whether line[at] is the quote that closes a string which began before line[begin], the place of
// a name: a prompt, 'Password:', next.
bool closes_string(std::string_view line, std::size_t begin, std::size_t at) {
  const char mark = at_or_nul(line, at);
  const char next = at_or_nul(line, at + 1);
  if (!is_quote(mark) || (next != '\0' && std::string_view(" ,);+.:]}").find(next) > 7))
    return false;
  bool open = false;
  for (std::size_t i = begin - std::min(begin, kLongestString); i < begin; ++i) {
    // No apostrophe: don't.
    const bool within = i > 0 && is_alphanumeric(line[i - 1]) && is_alphanumeric(line[i + 1]);
    if (line[i] == mark && !within && (i == 0 || line[i - 1] != '\\')) open = !open;
  }
  return open;
}

std::string_view word_before(std::string_view line, std::size_t at) {
  if (at < 2 || line[at - 1] != ' ') return {};
  std::size_t begin = at - 1;
  while (begin > 0 && is_alphanumeric(line[begin - 1]) && at - begin < kLongestName) --begin;
  return line.substr(begin, at - 1 - begin);
}

// Whether `name=value;` stands before line[begin], as in a connection string, or a URL whose query
// goes on there. Code has names with dots, and blanks behind its semicolons.
bool is_listed(std::string_view line, std::size_t begin) {
  if (begin < 2) return false;
  const std::string_view left = line.substr(0, begin - 1);
  if (line[begin - 1] == ';') {
    const std::size_t from = left.rfind(';') + 1;  // npos: 0
    return left.find('=', from) < left.size() - 1;
  }
  const bool in_query = line[begin - 1] == '?' || line[begin - 1] == '&';
  return in_query && left.find('/', left.find_last_of(" \t\"'`") + 1) < left.size();
}

std::optional<NamedValue> read_in_line(std::string_view line, std::size_t at, bool is_shell) {
  std::size_t begin = at;
  std::size_t end = at;
  const std::size_t leftmost = at - std::min(at, kLongestName);
  const std::size_t rightmost = std::min(line.size(), at + kLongestName);
  while (begin > leftmost && is_name_char(line[begin - 1])) --begin;
  while (end < rightmost && is_name_char(line[end])) ++end;
  NamedValue found;
  const std::string_view dashed = line.substr(begin, end - begin);
  found.name = dashed.substr(std::min(dashed.find_first_not_of("-."), dashed.size()));
  found.flag = dashed.starts_with("--") || (dashed.starts_with('-') && names_password(found.name));
  found.lead = word_before(line, begin);
  if (begin > 0 && (line[begin - 1] == '/' || line[begin - 1] == '\\')) {
    // A file's name, unless it is an escape: "\nPASSWORD=…".
    if (line[begin - 1] == '/' || found.name.size() < 2) return std::nullopt;
    if (std::string_view("nrt").find(found.name[0]) < 3) found.name.remove_prefix(1);
  }
  const char before = begin > 0 ? line[begin - 1] : '\0';
  // <name>, not Type<Name>.
  const bool in_tag = before == '<' && (begin < 2 || !is_name_char(line[begin - 2]));
  const bool in_query = before == '?' || before == '&';

  const std::size_t closed = skip_name_close(line, end);
  std::size_t place = skip_spaces(line, closed);
  const std::size_t text = in_tag ? find_text(line, end) : std::string_view::npos;
  bool in_element = text != std::string_view::npos;
  if (in_element) place = text - 1;
  const std::size_t after = skip_operator(line, place, in_tag);
  if (after != std::string_view::npos) {
    found.spaced = place != closed;
    const bool equals = line[after - 1] == '=' && after == place + 1;
    found.tight = equals && !found.spaced;
    found.env_style = found.tight && begins_line(line.substr(0, begin));
    found.own_word = found.tight && (begin == 0 || is_space(before));
    found.listed =
        found.tight && found.name.find('.') == std::string_view::npos && is_listed(line, begin);
    if (before == ':' && line[place] == ':') return std::nullopt;  // arn:…:secret:name
    const char sign = at_or_nul(line, after);
    if (line.substr(0, begin).ends_with("${") && (sign == '?' || sign == '+')) {
      return std::nullopt;  // ${NAME:?must be set}
    }
    place = skip_spaces(line, after);
    if (closed == end && closes_string(line, begin, place)) return std::nullopt;
    if (line[after - 1] == ':') {
      const std::size_t type_end = unquoted_end(line, place, in_query, in_tag);
      if (is_type_annotation(line, place, type_end)) {
        place = skip_spaces(line, skip_spaces(line, type_end) + 1);
      }
    }
  } else if (!found.flag || place == closed || at_or_nul(line, place) == '-') {
    // Not `--name value` either.
    place = find_argument(line, begin, end);
    if (place == std::string_view::npos) {
      place = find_value_beside(line, begin, end);
      in_element = place != std::string_view::npos && at_or_nul(line, place - 1) == '>';
    }
    found.argument = found.in_code = place != std::string_view::npos;
    if (!found.argument) {
      // A line of a configuration: `password hunter22`.
      place = skip_spaces(line, end);
      const std::string_view rest = line.substr(place);
      const bool alone = rest.find_last_not_of(" \t\r") < rest.find_first_of(" \t");
      const std::string_view lead = line.substr(0, begin);
      if (place == end || !alone || !(only_spaces(lead) || lead == "ENV ")) return std::nullopt;
      found.argument = true;
    }
  }
  if (const std::size_t made = skip_conversion(line, place); made != place) {
    place = made;
    found.argument = found.in_code = true;
  }
  const Quote quote = in_element ? Quote{} : skip_opening_quote(line, place);
  const std::size_t brace =
      in_element || quote.mark != '\0' || !found.tight || !names_password(found.name)
          ? std::string_view::npos
          : braced_end(line, place, before == ';');
  found.braced = brace != std::string_view::npos;
  if (found.braced) ++place;
  if (in_element && line.substr(place).starts_with(kCharacterData)) place += kCharacterData.size();
  found.quoted = quote.mark != '\0' || in_element || found.braced;
  found.backquoted = quote.mark == '`';
  found.value_begin = place;
  const std::size_t value_end = in_element     ? element_end(line, place)
                                : found.braced ? brace
                                : found.quoted ? quoted_end(line, place, quote)
                                               : unquoted_end(line, place, in_query, in_tag);
  found.value = line.substr(place, value_end - place);
  std::string_view rest = line.substr(value_end);
  // The output of env(1): a value may hold anything, and ends with its line.
  const bool to_line_end =
      !is_shell && found.env_style && begin == 0 && !found.quoted && is_upper_name(found.name);
  found.value_end = to_line_end ? line.size() - (line.ends_with('\r') ? 1 : 0) : value_end;
  if (!found.quoted && !to_line_end && !in_query && names_password(found.name)) {
    const bool in_list = before == ';' || (found.tight && rest.find(';') < rest.size() &&
                                           is_name_before_value(rest, rest.find(';') + 1));
    found.value_end = password_end(line, value_end, in_list, found.env_style);
    if ((found.env_style || in_list) && found.value_end > value_end) {
      found.value = line.substr(place, found.value_end - place);
      rest = line.substr(found.value_end);
    }
  }
  found.whole_line = begins_line(line.substr(0, begin)) &&
                     only_spaces(quote.mark != '\0' && !rest.empty() ? rest.substr(1) : rest);
  if (!found.quoted && !rest.empty()) {
    // `Password=x;` is a connection string, `password = x;` is code.
    found.in_code = std::string_view(",)([").find(rest[0]) < 4 || (rest[0] == ';' && found.spaced);
  }
  return found;
}

}  // namespace

std::optional<NamedValue> read_assignment(std::string_view line, std::size_t at, std::size_t reach,
                                          bool is_shell) {
  const std::size_t first = at - std::min(at, reach);
  line = line.substr(0, at + std::min(reach, line.size() - at));
  // A NUL byte ends an assignment as a newline does: `env -0`, /proc/PID/environ.
  // Looked for no further back than that: a line may be one of names.
  const std::size_t begin = first + line.substr(first, at + 1 - first).rfind('\0') + 1;  // npos: 0
  if (begin > at) return std::nullopt;
  std::optional<NamedValue> found =
      read_in_line(line.substr(begin, line.find('\0', at) - begin), at - begin, is_shell);
  if (found) {
    found->value_begin += begin;
    found->value_end += begin;
  }
  return found;
}

}  // namespace sbx
