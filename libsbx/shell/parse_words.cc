// SPDX-License-Identifier: Apache-2.0
// The parser's words: quotes, expansions, substitutions. Only moves forward, but for the bounded
// look-ahead that tells ((arithmetic)) from nested subshells.
#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "shell/ansi_c.h"
#include "shell/marks.h"
#include "shell/parser_impl.h"

namespace sbx::shell {
namespace {

constexpr std::size_t kMaxSubscript = 1024;  // how far its end is looked for

bool is_special_parameter(char c) {
  return std::string_view("@*#?$!-").find(c) != std::string_view::npos;
}

bool is_double(char c, bool in_double) { return c == '"' && !in_double; }

}  // namespace

void Parser::parse_word(WordNode& word, Stop stop) {
  const std::size_t begin = pos_;
  parse_parts(stop, word.parts);
  // A line that is continued behind the word is no part of it.
  std::size_t end = pos_;
  while (end > begin + 2 && text_.substr(end - 2, 2) == "\\\n") end -= 2;
  word.span = source_.span(begin, end);
}

void Parser::add_text(std::vector<Part>& parts, PartKind kind, std::size_t begin,
                      std::string_view text) {
  if (parts.empty() || parts.back().kind != kind) {
    parts.emplace_back();
    parts.back().kind = kind;
    parts.back().span.begin = source_.span(begin, pos_).begin;
  }
  parts.back().text += text;
  parts.back().span.end = source_.span(begin, pos_).end;
}

Part& Parser::add_part(std::vector<Part>& parts, PartKind kind, std::size_t begin) {
  parts.emplace_back();
  parts.back().kind = kind;
  parts.back().span = source_.span(begin, pos_);
  return parts.back();
}

void Parser::end_part(std::vector<Part>& parts, std::size_t begin) {
  parts.back().span = source_.span(begin, pos_);
}

bool Parser::stops_at(Stop stop, char c, int nesting) const {
  switch (stop) {
    case Stop::kWord:
      return is_meta(c) && !((c == '<' || c == '>') && next_is(c, '('));
    case Stop::kBrace:
    case Stop::kBraceDouble:
      return c == '}';
    case Stop::kDouble:
      return c == '"';
    case Stop::kDocument:
      return false;
    case Stop::kSubscript:
      return c == ']' && nesting == 0;
    case Stop::kRegex:
      return nesting == 0 && (is_blank(c) || c == '\n' || c == ')' || c == ';' || c == '&');
    case Stop::kGlob:
      return c == ')' && nesting == 0;
  }
  return true;
}

void Parser::parse_parts(Stop stop, std::vector<Part>& parts) {
  const Deeper deeper(*this);
  const bool in_double =
      stop == Stop::kDouble || stop == Stop::kDocument || stop == Stop::kBraceDouble;
  int nesting = 0;  // of [ ] or ( ), where they nest
  bool at_line_start = true;
  while (!failed_ && !at_end()) {
    const std::size_t begin = pos_;
    const char c = text_[pos_];
    if (stops_at(stop, c, nesting)) return;
    if (strips_tabs_ && stop == Stop::kDocument && c == '\t' && at_line_start) {
      ++pos_;
      continue;
    }
    at_line_start = c == '\n';
    if (c == '\\') {
      parse_escape(stop, parts);
    } else if (c == '\'' && !in_double) {
      parse_single_quotes(parts);
    } else if (c == '"' && stop != Stop::kDocument) {
      parse_double_quotes(parts);
    } else if (c == '$') {
      parse_dollar(stop, parts);
    } else if (c == '`') {
      parse_backquotes(in_double, parts);
    } else if ((c == '<' || c == '>') && !in_double && next_is(c, '(')) {
      parse_process(parts);
    } else if (stop == Stop::kWord && std::string_view("?*+@!").find(c) != std::string_view::npos &&
               peek(1) == '(' && peek(2) != ')') {
      parse_glob_group(parts);
    } else {
      if (stop == Stop::kSubscript) nesting += (c == '[') - (c == ']');
      if (stop == Stop::kRegex || stop == Stop::kGlob) nesting += (c == '(') - (c == ')');
      ++pos_;
      add_text(parts, in_double ? PartKind::kQuoted : PartKind::kLiteral, begin,
               {&text_[begin], 1});
    }
  }
}

// Parts up to a known end, as in a here-document.
void Parser::parse_range(Stop stop, std::size_t end, std::vector<Part>& parts) {
  const std::size_t limit = std::exchange(limit_, end);
  parse_parts(stop, parts);
  limit_ = limit;
}

void Parser::parse_escape(Stop stop, std::vector<Part>& parts) {
  const std::size_t begin = pos_;
  if (pos_ + 1 >= limit_) {  // a lone backslash at the end stands for itself
    ++pos_;
    add_text(parts, PartKind::kQuoted, begin, "\\");
    return;
  }
  const char c = text_[pos_ + 1];
  pos_ += 2;
  if (c == '\n') return;
  std::string_view special;
  if (stop == Stop::kDouble) special = "$`\"\\";
  if (stop == Stop::kDocument) special = "$`\\";
  if (stop == Stop::kBraceDouble) special = "$`\"\\}";
  const bool keeps = !special.empty() && special.find(c) == std::string_view::npos;
  add_text(parts, PartKind::kQuoted, begin,
           keeps ? text_.substr(begin, 2) : text_.substr(begin + 1, 1));
}

void Parser::parse_single_quotes(std::vector<Part>& parts) {
  const std::size_t begin = pos_++;
  const std::size_t end = text_.substr(0, limit_).find('\'', pos_);
  if (end == std::string_view::npos) {
    pos_ = limit_;
    add_text(parts, PartKind::kQuoted, begin, text_.substr(begin + 1, limit_ - begin - 1));
    return fail("a single quote is not closed");
  }
  pos_ = end + 1;
  add_text(parts, PartKind::kQuoted, begin, text_.substr(begin + 1, end - begin - 1));
}

void Parser::parse_ansi_c(std::vector<Part>& parts) {
  const std::size_t begin = pos_ - 1;  // the dollar sign
  const std::size_t text_begin = ++pos_;
  while (!at_end() && text_[pos_] != '\'') pos_ += text_[pos_] == '\\' ? 2 : 1;
  pos_ = std::min(pos_, limit_);
  const std::string value = decode_ansi_c(text_.substr(text_begin, pos_ - text_begin));
  if (at_end()) {
    fail("a quote is not closed");
  } else {
    ++pos_;
  }
  add_text(parts, PartKind::kQuoted, begin, value);
}

void Parser::parse_double_quotes(std::vector<Part>& parts) {
  const std::size_t begin = pos_++;
  add_part(parts, PartKind::kDouble, begin);
  std::vector<Part> inside;
  parse_parts(Stop::kDouble, inside);
  if (!failed_) expect('"', "a double quote is not closed");
  parts.back().parts = std::move(inside);
  end_part(parts, begin);
}

// @(a|b) and the like, of which no more is kept than that it is a pattern, and what runs in it.
void Parser::parse_glob_group(std::vector<Part>& parts) {
  const std::size_t begin = pos_;
  pos_ += 2;
  std::vector<Part> inside;
  parse_parts(Stop::kGlob, inside);
  if (failed_) return;
  expect(')', "a pattern group is not closed");
  const std::string_view group = text_.substr(begin, pos_ - begin);
  const bool may_be_parent =
      group.find("(.") != std::string_view::npos || group.find("|.") != std::string_view::npos;
  add_text(parts, PartKind::kLiteral, begin, may_be_parent ? ".*" : "*");
  for (Part& part : inside) {
    if (part.kind == PartKind::kLiteral || part.kind == PartKind::kQuoted) continue;
    parts.push_back(std::move(part));
    add_text(parts, PartKind::kLiteral, begin, {&kHole, 1});
  }
}

void Parser::parse_process(std::vector<Part>& parts) {
  const std::size_t begin = pos_++;
  skip_continuations();
  Part part;
  part.kind = PartKind::kProcess;
  part.text = text_.substr(begin, 1);
  parse_substitution(part);
  part.span = source_.span(begin, pos_);
  parts.push_back(std::move(part));
}

// From the ( to behind the ).
void Parser::parse_substitution(Part& part) {
  ++pos_;
  part.block = std::make_unique<Block>();
  std::vector<Pending> outer = std::exchange(pending_, {});
  ++substitutions_;
  parse_block(*part.block);
  --substitutions_;
  pending_ = std::move(outer);
  if (!failed_) expect(')', "a substitution is not closed");
}

void Parser::parse_dollar(Stop stop, std::vector<Part>& parts) {
  const bool in_double =
      stop == Stop::kDouble || stop == Stop::kDocument || stop == Stop::kBraceDouble;
  const std::size_t begin = pos_++;
  skip_continuations();
  const char c = peek(0);
  if (c == '\'' && !in_double) return parse_ansi_c(parts);
  if (is_double(c, in_double)) return parse_double_quotes(parts);
  Part part;
  if (c == '(') {
    const std::size_t inner = past_continuations(pos_ + 1);
    const bool is_double_parenthesis = inner < limit_ && text_[inner] == '(';
    const std::size_t end =
        is_double_parenthesis ? arithmetic_end(inner + 1) : std::string_view::npos;
    if (end != std::string_view::npos) {
      part.kind = PartKind::kArithmetic;
      pos_ = inner + 1;
      parse_range(Stop::kDocument, end, part.parts);
      note_arithmetic(inner + 1, end);
      if (!failed_) pos_ = end + 2;
    } else {
      part.kind = PartKind::kCommand;
      parse_substitution(part);
    }
  } else if (c == '{') {
    parse_braced(part, in_double);
  } else if (c == '[') {
    part.kind = PartKind::kArithmetic;
    const std::size_t inner = ++pos_;
    parse_parts(Stop::kSubscript, part.parts);
    note_arithmetic(inner, pos_);
    if (!failed_) expect(']', "an arithmetic expansion is not closed");
  } else if (is_name_start(c) || is_digit(c) || (is_special_parameter(c) && !at_end())) {
    part.kind = PartKind::kParameter;
    part.parameter = std::make_unique<Parameter>();
    std::string& name = part.parameter->name;
    name = text_.substr(pos_++, 1);
    while (is_name_start(c) && !at_end()) {
      skip_continuations();
      if (at_end() || !is_name_char(text_[pos_])) break;
      name += text_[pos_++];
    }
  } else {
    return add_text(parts, in_double ? PartKind::kQuoted : PartKind::kLiteral, begin, "$");
  }
  part.span = source_.span(begin, pos_);
  parts.push_back(std::move(part));
}

void Parser::parse_braced(Part& part, bool in_double) {
  ++pos_;
  const char c = peek(0);
  if (is_blank(c) || c == '\n' || c == '|') {  // ${ command; }
    part.kind = PartKind::kCommand;
    if (c == '|') ++pos_;
    part.block = std::make_unique<Block>();
    std::vector<Pending> outer = std::exchange(pending_, {});
    parse_block(*part.block);
    pending_ = std::move(outer);
    if (!failed_) expect('}', "a substitution is not closed");
    return;
  }
  part.kind = PartKind::kParameter;
  part.parameter = std::make_unique<Parameter>();
  parse_parameter(*part.parameter, in_double);
  if (!failed_) expect('}', "an expansion is not closed");
}

// From behind ${ to before }.
void Parser::parse_parameter(Parameter& parameter, bool in_double) {
  const Deeper deeper(*this);
  const auto starts_parameter = [](char c) { return is_name_char(c) || is_special_parameter(c); };
  if (is_at('!') && (is_name_char(peek(1)) ||
                     ((peek(1) == '#' || peek(1) == '@' || peek(1) == '*') && peek(2) == '}'))) {
    parameter.is_indirect = true;
    ++pos_;
  } else if (is_at('#') &&
             (is_name_char(peek(1)) || (starts_parameter(peek(1)) && peek(2) == '}'))) {
    parameter.is_length = true;
    ++pos_;
  }
  skip_continuations();
  if (is_name_start(peek(0))) {
    while (!at_end() && is_name_char(text_[pos_])) {
      parameter.name += text_[pos_++];
      skip_continuations();
    }
  } else if (is_digit(peek(0))) {
    while (is_digit(peek(0))) parameter.name += text_[pos_++];
  } else if (!at_end() && is_special_parameter(text_[pos_])) {
    parameter.name = text_.substr(pos_++, 1);
  }
  if (is_at('[') && !parameter.name.empty()) {
    const std::size_t begin = ++pos_;
    parameter.has_subscript = true;
    parse_parts(Stop::kSubscript, parameter.index);
    if (failed_) return;
    parameter.subscript = text_.substr(begin, pos_ - begin);
    expect(']', "a subscript is not closed");
  }
  if (at_end() || is_at('}')) return;

  const std::size_t begin = pos_;
  const char c = text_[pos_];
  const char next = peek(1);
  if (c == ':') {
    pos_ += std::string_view("-=+?").find(next) != std::string_view::npos && next != kHole ? 2 : 1;
  } else if (c == '/') {
    pos_ += next == '/' || next == '#' || next == '%' ? 2 : 1;
  } else if (std::string_view("#%^,").find(c) != std::string_view::npos) {
    pos_ += next == c ? 2 : 1;
  } else if (std::string_view("-=+?@").find(c) != std::string_view::npos) {
    ++pos_;
  }
  parameter.operation = text_.substr(begin, pos_ - begin);
  if (parameter.operation.empty()) parameter.operation = "unknown";
  if (parameter.operation.back() == '=') tree_.assigned.push_back(parameter.name);
  // Only behind - = + ? are single quotes ordinary inside double quotes.
  const bool quotes_count =
      std::string_view("-=+?").find(parameter.operation.back()) == std::string_view::npos;
  parse_parts(in_double && !quotes_count ? Stop::kBraceDouble : Stop::kBrace, parameter.word);
}

void Parser::parse_backquotes(bool in_double, std::vector<Part>& parts) {
  const std::size_t begin = pos_++;
  std::string inside;
  std::vector<std::uint32_t> places;
  while (!at_end() && text_[pos_] != '`') {
    if (text_[pos_] == '\\' && pos_ + 1 < limit_) {
      const char c = text_[pos_ + 1];
      if (c == '`' || c == '\\' || c == '$' || (in_double && c == '"')) {
        ++pos_;
      } else {  // kept, with what follows it
        places.push_back(source_.inside(pos_, pos_ + 1).begin);
        inside += text_[pos_++];
      }
    }
    places.push_back(source_.inside(pos_, pos_ + 1).begin);
    inside += text_[pos_++];
  }
  Source source;
  source.text = inside;
  source.is_inside_word = source_.is_inside_word;
  source.whole = source_.whole;
  source.places = std::move(places);
  const bool is_closed = !at_end();
  if (is_closed) ++pos_;

  const Deeper deeper(*this);
  Part& part = add_part(parts, PartKind::kCommand, begin);
  part.block = std::make_unique<Block>();
  if (failed_) return;
  Parser parser(source, depth_, tree_);
  parser.parse_all(*part.block);
  if (parser.failed_for_good_) failed_ = failed_for_good_ = true;
  if (!is_closed) fail("a backquote is not closed");
}

// The place of the )) that ends what began with (( before `begin`; npos: nested parentheses. Bash
// decides by the same rule.
std::size_t Parser::arithmetic_end(std::size_t begin) {
  int open = 0;
  for (std::size_t at = begin; at < limit_; ++at) {
    if (lookahead_left_-- == 0) {
      fail_for_good("it has too many open parentheses");
      return std::string_view::npos;
    }
    const char c = text_[at];
    if (c == '\\') {
      ++at;
    } else if (c == '\'' || c == '"') {
      for (++at; at < limit_ && text_[at] != c; ++at) {
        if (lookahead_left_ > 0) --lookahead_left_;
        if (c == '"' && text_[at] == '\\') ++at;
      }
    } else if (c == '(') {
      ++open;
    } else if (c == ')' && open-- == 0) {
      return at + 1 < limit_ && text_[at + 1] == ')' ? at : std::string_view::npos;
    }
  }
  return std::string_view::npos;
}

// The place of the ] in NAME[…]= or NAME[…]+=; npos: it is no assignment.
std::size_t Parser::subscript_end(std::size_t begin) const {
  const std::size_t last = std::min(limit_, begin + kMaxSubscript);
  int open = 0;
  for (std::size_t at = begin; at + 1 < last; ++at) {
    const char c = text_[at];
    if (c == '\\') {
      ++at;
    } else if (c == '\'' || c == '"') {
      for (++at; at < last && text_[at] != c; ++at) {
        if (c == '"' && text_[at] == '\\') ++at;
      }
    } else if (c == '[') {
      ++open;
    } else if (c == ']' && open-- == 0) {
      const std::size_t next = past_continuations(at + 1);
      const bool assigns =
          next < limit_ && (text_[next] == '=' ||
                            (text_[next] == '+' && next + 1 < limit_ && text_[next + 1] == '='));
      return assigns ? at : std::string_view::npos;
    }
  }
  return std::string_view::npos;
}

}  // namespace sbx::shell
