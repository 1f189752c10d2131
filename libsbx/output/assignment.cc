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

// One line, in steps; each answers whether it may be an assignment still.
class LineReader {
 public:
  LineReader(std::string_view line, std::size_t at) : line_(line), begin_(at), end_(at) {
    const std::size_t leftmost = at - std::min(at, kLongestName);
    const std::size_t rightmost = std::min(line.size(), at + kLongestName);
    while (begin_ > leftmost && is_name_char(line[begin_ - 1])) --begin_;
    while (end_ < rightmost && is_name_char(line[end_])) ++end_;
    before_ = begin_ > 0 ? line[begin_ - 1] : '\0';
    // <name>, not Type<Name>.
    in_tag_ = before_ == '<' && (begin_ < 2 || !is_name_char(line[begin_ - 2]));
    in_query_ = before_ == '?' || before_ == '&';
  }

  std::optional<NamedValue> read(bool is_shell) {
    if (!read_name() || !find_value()) return std::nullopt;
    read_value(is_shell);
    return found_;
  }

 private:
  bool read_name() {
    const std::string_view dashed = line_.substr(begin_, end_ - begin_);
    found_.name = dashed.substr(std::min(dashed.find_first_not_of("-."), dashed.size()));
    found_.flag =
        dashed.starts_with("--") || (dashed.starts_with('-') && names_password(found_.name));
    found_.lead = word_before(line_, begin_);
    if (before_ == '/' || before_ == '\\') {
      // A file's name, unless it is an escape: "\nPASSWORD=…".
      if (before_ == '/' || found_.name.size() < 2) return false;
      if (std::string_view("nrt").find(found_.name[0]) < 3) found_.name.remove_prefix(1);
    }
    return true;
  }

  bool find_value() {
    const std::size_t closed = skip_name_close(line_, end_);
    place_ = skip_spaces(line_, closed);
    const std::size_t text = in_tag_ ? find_text(line_, end_) : std::string_view::npos;
    in_element_ = text != std::string_view::npos;
    if (in_element_) place_ = text - 1;
    const std::size_t after = skip_operator(line_, place_, in_tag_);
    if (after != std::string_view::npos) {
      if (!pass_operator(closed, after)) return false;
    } else if (!found_.flag || place_ == closed || at_or_nul(line_, place_) == '-') {
      // Not `--name value` either.
      if (!find_without_operator()) return false;
    }
    if (const std::size_t made = skip_conversion(line_, place_); made != place_) {
      place_ = made;
      found_.argument = found_.in_code = true;
    }
    return true;
  }

  bool pass_operator(std::size_t closed, std::size_t after) {
    found_.spaced = place_ != closed;
    const bool equals = line_[after - 1] == '=' && after == place_ + 1;
    found_.tight = equals && !found_.spaced;
    found_.env_style = found_.tight && begins_line(line_.substr(0, begin_));
    found_.own_word = found_.tight && (begin_ == 0 || is_space(before_));
    found_.listed =
        found_.tight && found_.name.find('.') == std::string_view::npos && is_listed(line_, begin_);
    if (before_ == ':' && line_[place_] == ':') return false;  // arn:…:secret:name
    const char sign = at_or_nul(line_, after);
    if (line_.substr(0, begin_).ends_with("${") && (sign == '?' || sign == '+')) {
      return false;  // ${NAME:?must be set}
    }
    place_ = skip_spaces(line_, after);
    if (closed == end_ && closes_string(line_, begin_, place_)) return false;
    if (line_[after - 1] == ':') {
      const std::size_t type_end = unquoted_end(line_, place_, in_query_, in_tag_);
      if (is_type_annotation(line_, place_, type_end)) {
        place_ = skip_spaces(line_, skip_spaces(line_, type_end) + 1);
      }
    }
    return true;
  }

  bool find_without_operator() {
    place_ = find_argument(line_, begin_, end_);
    if (place_ == std::string_view::npos) {
      place_ = find_value_beside(line_, begin_, end_);
      in_element_ = place_ != std::string_view::npos && at_or_nul(line_, place_ - 1) == '>';
    }
    found_.argument = found_.in_code = place_ != std::string_view::npos;
    if (found_.argument) return true;
    // A line of a configuration: `password hunter22`.
    place_ = skip_spaces(line_, end_);
    const std::string_view rest = line_.substr(place_);
    const bool alone = rest.find_last_not_of(" \t\r") < rest.find_first_of(" \t");
    const std::string_view lead = line_.substr(0, begin_);
    found_.argument = true;
    return place_ != end_ && alone && (only_spaces(lead) || lead == "ENV ");
  }

  void read_value(bool is_shell) {
    const Quote quote = in_element_ ? Quote{} : skip_opening_quote(line_, place_);
    const std::size_t brace =
        in_element_ || quote.mark != '\0' || !found_.tight || !names_password(found_.name)
            ? std::string_view::npos
            : braced_end(line_, place_, before_ == ';');
    found_.braced = brace != std::string_view::npos;
    if (found_.braced) ++place_;
    if (in_element_ && line_.substr(place_).starts_with(kCharacterData)) {
      place_ += kCharacterData.size();
    }
    found_.quoted = quote.mark != '\0' || in_element_ || found_.braced;
    found_.backquoted = quote.mark == '`';
    found_.value_begin = place_;
    const std::size_t value_end = in_element_     ? element_end(line_, place_)
                                  : found_.braced ? brace
                                  : found_.quoted ? quoted_end(line_, place_, quote)
                                                  : unquoted_end(line_, place_, in_query_, in_tag_);
    found_.value = line_.substr(place_, value_end - place_);
    // The output of env(1): a value may hold anything, and ends with its line.
    const bool to_line_end = !is_shell && found_.env_style && begin_ == 0 && !found_.quoted &&
                             is_upper_name(found_.name);
    found_.value_end = to_line_end ? line_.size() - (line_.ends_with('\r') ? 1 : 0) : value_end;
    if (!found_.quoted && !to_line_end && !in_query_ && names_password(found_.name)) {
      widen_password();
    }
    const bool is_wider = found_.value_begin + found_.value.size() > value_end;
    const std::string_view rest = line_.substr(is_wider ? found_.value_end : value_end);
    found_.whole_line = begins_line(line_.substr(0, begin_)) &&
                        only_spaces(quote.mark != '\0' && !rest.empty() ? rest.substr(1) : rest);
    if (!found_.quoted && !rest.empty()) {
      // `Password=x;` is a connection string, `password = x;` is code.
      found_.in_code =
          std::string_view(",)([").find(rest[0]) < 4 || (rest[0] == ';' && found_.spaced);
    }
  }

  void widen_password() {
    const std::string_view rest = line_.substr(found_.value_end);
    const bool in_list = before_ == ';' || (found_.tight && rest.find(';') < rest.size() &&
                                            is_name_before_value(rest, rest.find(';') + 1));
    const std::size_t end = password_end(line_, found_.value_end, in_list, found_.env_style);
    if ((found_.env_style || in_list) && end > found_.value_end) {
      found_.value = line_.substr(place_, end - place_);
    }
    found_.value_end = end;
  }

  std::string_view line_;
  std::size_t begin_;  // of the name, with dashes
  std::size_t end_;
  std::size_t place_ = 0;  // behind all that has been read
  char before_ = '\0';     // the name
  bool in_tag_ = false;
  bool in_query_ = false;
  bool in_element_ = false;
  NamedValue found_;
};

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
      LineReader(line.substr(begin, line.find('\0', at) - begin), at - begin).read(is_shell);
  if (found) {
    found->value_begin += begin;
    found->value_end += begin;
  }
  return found;
}

}  // namespace sbx
