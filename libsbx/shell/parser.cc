// SPDX-License-Identifier: Apache-2.0
// The parser's lists, pipelines and simple commands, and what it does after a fault. Compound
// commands are in parse_compound.cc.
#include "shell/parser.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/paths.h"
#include "shell/parser_impl.h"

namespace sbx::shell {
namespace {

constexpr std::size_t kMaxFaults = 16;

constexpr std::string_view kReserved[] = {
    "!",        "[[", "case", "coproc", "do",   "done", "elif",  "else",  "esac", "fi", "for",
    "function", "if", "in",   "select", "then", "time", "until", "while", "{",    "}"};
constexpr std::string_view kClosers[] = {"do", "done", "elif", "else", "esac", "fi", "then", "}"};
// Builtins whose operands name variables that they set.
constexpr std::string_view kSetters[] = {"read",    "export",   "declare", "typeset",
                                         "local",   "readonly", "mapfile", "readarray",
                                         "getopts", "unset",    "let",     "wait"};
// What may run any of them.
constexpr std::string_view kRunners[] = {"eval", "source", ".", "command", "builtin"};
constexpr std::string_view kChangers[] = {"cd", "pushd", "popd"};

template <std::size_t kSize>
bool is_one_of(std::string_view word, const std::string_view (&words)[kSize]) {
  for (const std::string_view one : words) {
    if (one == word) return true;
  }
  return false;
}

bool is_declaration(std::string_view word) {
  return word == "declare" || word == "typeset" || word == "local" || word == "export" ||
         word == "readonly";
}

}  // namespace

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_name_start(char c) { return is_letter(c) || c == '_'; }
bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }
bool is_meta(char c) {
  switch (c) {
    case ' ':
    case '\t':
    case '\n':
    case ';':
    case '&':
    case '|':
    case '<':
    case '>':
    case '(':
    case ')':
      return true;
    default:
      return false;
  }
}

bool is_name(std::string_view text) {
  if (text.empty() || !is_name_start(text[0])) return false;
  for (const char c : text) {
    if (!is_name_char(c)) return false;
  }
  return true;
}

bool plain_text(const WordNode& word, std::string& text) {
  text.clear();
  const auto append = [&text](const Part& part) {
    text += part.text;
    return (part.kind == PartKind::kLiteral || part.kind == PartKind::kQuoted) &&
           !has_mark(part.text);
  };
  for (const Part& part : word.parts) {
    if (part.kind != PartKind::kDouble) {
      if (!append(part)) return false;
      continue;
    }
    for (const Part& inner : part.parts) {
      if (!append(inner)) return false;
    }
  }
  return true;
}

Span Source::span(std::size_t begin, std::size_t end) const {
  return is_inside_word ? whole : inside(begin, end);
}

Span Source::inside(std::size_t begin, std::size_t end) const {
  if (places.empty()) {
    return {static_cast<std::uint32_t>(base + begin), static_cast<std::uint32_t>(base + end)};
  }
  const auto place = [this](std::size_t at) {
    return at < places.size() ? places[at] : places.back() + 1;
  };
  return {place(begin), end > begin ? place(end - 1) + 1 : place(begin)};
}

void parse_shell(const Source& source, int depth, Tree& tree) {
  Parser(source, depth, tree).parse_all(tree.block);
}

char Parser::peek(std::size_t offset) const {
  return pos_ + offset < limit_ ? text_[pos_ + offset] : kHole;
}

std::size_t Parser::past_continuations(std::size_t pos) const {
  while (pos + 1 < limit_ && text_[pos] == '\\' && text_[pos + 1] == '\n') pos += 2;
  return pos;
}

bool Parser::take(char c) {
  const std::size_t at = past_continuations(pos_);
  if (at >= limit_ || text_[at] != c) return false;
  pos_ = at + 1;
  return true;
}

bool Parser::next_is(char first, char second) const {
  if (!is_at(first)) return false;
  const std::size_t at = past_continuations(pos_ + 1);
  return at < limit_ && text_[at] == second;
}

void Parser::skip_blanks() {
  while (true) {
    skip_continuations();
    if (at_end() || !is_blank(text_[pos_])) break;
    ++pos_;
  }
  if (!is_at('#')) return;
  while (!at_end() && text_[pos_] != '\n') ++pos_;
}

void Parser::skip_newlines() {
  skip_blanks();
  while (!failed_ && is_at('\n')) {
    ++pos_;
    read_documents();
    skip_blanks();
  }
}

void Parser::fail(const char* what) {
  if (failed_) return;
  failed_ = true;
  tree_.faults.push_back(
      {source_.span(std::min(pos_, limit_), std::min(pos_ + 1, text_.size())), what});
}

void Parser::fail_for_good(const char* what) {
  fail(what);
  failed_for_good_ = true;
}

Parser::Reserved Parser::reserved() const {
  static constexpr std::size_t kLongest = 8;
  char buffer[kLongest];
  std::size_t size = 0;
  std::size_t at = past_continuations(pos_);
  for (; at < limit_ && !is_meta(text_[at]); at = past_continuations(at + 1)) {
    if (size == kLongest) return {};
    buffer[size++] = text_[at];
  }
  const std::string_view word(buffer, size);
  for (const std::string_view one : kReserved) {
    if (one == word) return {one, at};
  }
  return {};
}

bool Parser::take_reserved(std::string_view word) {
  const Reserved next = reserved();
  if (next.word != word) return false;
  pos_ = next.end;
  return true;
}

void Parser::expect_reserved(std::string_view word) {
  if (!failed_ && !take_reserved(word)) fail("a word of the grammar is missing");
}

void Parser::expect(char c, const char* what) {
  if (failed_) return;
  if (!take(c)) fail(what);
}

void Parser::parse_all(Block& block) {
  const std::size_t first_name = tree_.assigned.size();
  while (true) {
    parse_block(block);
    if (!failed_ && at_end()) break;
    fail("the syntax is wrong here");
    if (failed_for_good_) break;
    if (tree_.faults.size() > kMaxFaults) {
      fail_for_good("it has too many faults");
      break;
    }
    // A shell would stop here or not, as its kind is: read on.
    pos_ = text_.find('\n', pos_);
    pos_ = pos_ == std::string_view::npos ? text_.size() : pos_ + 1;
    failed_ = false;
    pending_.clear();
  }
  block.assigned = names_since(first_name);
}

bool Parser::at_block_end() const {
  if (at_end() || is_at(')')) return true;
  if (is_at(';')) return true;  // ;; ;& and what is wrong
  const std::string_view word = reserved().word;
  return !word.empty() && is_one_of(word, kClosers);
}

void Parser::parse_block(Block& block) {
  const Deeper deeper(*this);
  const std::size_t first_name = tree_.assigned.size();
  while (!failed_) {
    skip_newlines();
    if (failed_ || at_block_end()) break;
    block.chains.emplace_back();
    Chain chain;
    parse_chain(chain);
    block.chains.back() = std::move(chain);
    if (failed_) break;
    skip_blanks();
    if (is_at(';')) {
      const std::size_t next = past_continuations(pos_ + 1);
      if (next < limit_ && (text_[next] == ';' || text_[next] == '&')) break;
      ++pos_;
    } else if (is_at('&')) {
      block.chains.back().in_background = true;
      ++pos_;
    }
  }
  if (!pending_.empty() && at_end()) read_documents();
  block.assigned = names_since(first_name);
}

void Parser::parse_chain(Chain& chain) {
  Connective connective = Connective::kFirst;
  while (!failed_) {
    const std::size_t first_name = tree_.assigned.size();
    ChainLink link;
    link.connective = connective;
    parse_pipeline(link.pipeline);
    link.assigned = names_since(first_name);
    chain.links.push_back(std::move(link));
    if (failed_) return;
    skip_blanks();
    if (next_is('&', '&')) {
      connective = Connective::kAnd;
    } else if (next_is('|', '|')) {
      connective = Connective::kOr;
    } else {
      return;
    }
    ++pos_;
    skip_continuations();
    ++pos_;
    skip_newlines();
  }
}

// `time` with its own options; elsewhere it is a program.
void Parser::take_time() {
  const Reserved next = reserved();
  const std::size_t begin = std::exchange(pos_, next.end);
  skip_blanks();
  if (is_at('-') && peek(1) == 'p' && (pos_ + 2 >= limit_ || is_meta(text_[pos_ + 2]))) {
    pos_ += 2;
    skip_blanks();
  }
  if (is_at('-') && peek(1) == '-' && (pos_ + 2 >= limit_ || is_meta(text_[pos_ + 2]))) pos_ += 2;
  if (is_at('-')) pos_ = begin;
}

void Parser::parse_pipeline(Pipeline& pipeline) {
  skip_blanks();
  const std::size_t begin = pos_;
  bool has_prefix = false;
  while (!failed_) {
    if (take_reserved("!")) {
      pipeline.is_negated = !pipeline.is_negated;
    } else {
      if (reserved().word != "time") break;
      const std::size_t before = pos_;
      take_time();
      if (pos_ == before) break;
    }
    has_prefix = true;
    skip_blanks();
  }
  if (has_prefix && (at_block_end() || is_at('\n') || is_at('&') || is_at('|'))) {
    pipeline.span = source_.span(begin, pos_);
    return;
  }
  while (!failed_) {
    SyntaxNode node;
    parse_command(node);
    pipeline.stages.push_back(std::move(node));
    if (failed_) break;
    pipeline.span = source_.span(begin, pos_);
    skip_blanks();
    if (!is_at('|') || next_is('|', '|')) break;
    ++pos_;
    take('&');
    skip_newlines();
  }
}

void Parser::parse_command(SyntaxNode& node) {
  skip_blanks();
  const std::size_t begin = pos_;
  bool is_compound = false;
  if (is_at('(')) {
    parse_parenthesis(node);
    is_compound = true;
  } else if (const std::string_view word = reserved().word; !word.empty() && word != "time") {
    is_compound = parse_compound(node, word);
  }
  if (!is_compound && !failed_) return parse_simple(node);
  node.span = source_.span(begin, pos_);
  if (node.kind == SyntaxKind::kFunction || node.kind == SyntaxKind::kCoprocess) return;
  while (!failed_) {
    skip_blanks();
    if (!parse_redirection(node.redirections)) return;
  }
}

void Parser::parse_simple(SyntaxNode& node) {
  const std::size_t begin = pos_;
  const std::size_t first_name = tree_.assigned.size();
  std::size_t end = pos_;
  bool declares = false;
  while (!failed_) {
    if (!parse_operand(node, declares)) break;
    end = pos_;
    if (node.words.size() == 1) {
      std::string name;
      declares = plain_text(node.words[0], name) && is_declaration(name);
      // NAME ( ) begins a function.
      if (node.assignments.empty() && node.redirections.empty()) {
        skip_blanks();
        if (is_at('(')) {
          ++pos_;
          skip_blanks();
          expect(')', "a parenthesis stands where none can");
          if (failed_) break;
          node.name = std::move(name);
          node.name_span = node.words[0].span;
          node.words.clear();
          parse_function_body(node);
          end = pos_;
          break;
        }
      }
    }
    skip_blanks();
  }
  if (pos_ == begin) fail("a command is missing");
  node.span = source_.span(begin, end);
  node.inside = source_.inside(begin, end);
  if (node.kind == SyntaxKind::kSimple) note_assigned(node);
  node.assigned = names_since(first_name);
}

// One word, assignment or redirection; false: none is here.
bool Parser::parse_operand(SyntaxNode& node, bool declares) {
  if (at_end()) return false;
  if (parse_redirection(node.redirections)) return true;
  if (failed_) return false;
  const char c = text_[pos_];
  if (is_meta(c) && !((c == '<' || c == '>') && next_is(c, '('))) return false;
  if ((node.words.empty() || declares) && parse_assignment(node)) return true;
  WordNode word;
  parse_word(word);
  node.words.push_back(std::move(word));
  return true;
}

// NAME=…, NAME+=…, NAME[…]=…; false, and nothing read: it is not one. As an operand of declare only
// arrays are taken: the others are words.
bool Parser::parse_assignment(SyntaxNode& node) {
  const std::size_t begin = pos_;
  AssignmentNode assignment;
  skip_continuations();
  if (at_end() || !is_name_start(text_[pos_])) {
    pos_ = begin;
    return false;
  }
  while (!at_end() && is_name_char(text_[pos_])) {
    assignment.name += text_[pos_++];
    skip_continuations();
  }
  if (is_at('[') && node.words.empty()) {
    const std::size_t end = subscript_end(pos_ + 1);
    if (end == std::string_view::npos) {  // a word such as a[1]
      pos_ = begin;
      return false;
    }
    assignment.has_index = true;
    ++pos_;
    parse_range(Stop::kDocument, end, assignment.index);
    if (failed_) return true;
    pos_ = end + 1;
  }
  if (next_is('+', '=')) {
    assignment.appends = true;
    ++pos_;
    skip_continuations();
  }
  if (!is_at('=')) {
    pos_ = begin;
    return false;
  }
  ++pos_;
  skip_continuations();
  if (is_at('(')) {
    parse_array(assignment);
  } else if (!node.words.empty()) {
    pos_ = begin;
    return false;
  } else {
    parse_word(assignment.value);
  }
  assignment.span = source_.span(begin, pos_);
  node.assignments.push_back(std::move(assignment));
  return true;
}

void Parser::parse_array(AssignmentNode& assignment) {
  ++pos_;
  assignment.is_array = true;
  while (!failed_) {
    skip_newlines();
    if (at_end() || (is_meta(text_[pos_]) && !next_is('<', '(') && !next_is('>', '('))) break;
    WordNode word;
    parse_word(word);
    assignment.elements.push_back(std::move(word));
  }
  expect(')', "an array is not closed");
}

namespace {

// A file that `source` reads in is taken to leave alone what the text around it assigns, where its
// name stands in the text; its directory need not.
bool names_kept_file(const WordNode& word) {
  std::string text;
  if (!plain_text(word, text)) {
    if (word.parts.empty()) return false;
    const Part* last = &word.parts.back();
    if (last->kind == PartKind::kDouble && !last->parts.empty()) last = &last->parts.back();
    if (last->kind != PartKind::kLiteral && last->kind != PartKind::kQuoted) return false;
    text = last->text;
    if (text.find('/') == std::string::npos) return false;
  }
  const std::string_view name = name_part(text);
  return !name.empty() && name.find_first_of("*?[{") == std::string_view::npos;
}

}  // namespace

// Which variables the command may set, as far as its text tells; "*" is any.
void Parser::note_assigned(const SyntaxNode& node) {
  std::vector<std::string>& assigned = tree_.assigned;
  for (const AssignmentNode& assignment : node.assignments) assigned.push_back(assignment.name);
  if (node.words.empty()) return;
  std::string name;
  std::size_t program = 0;
  bool is_plain = plain_text(node.words[0], name);
  while (is_plain && (name == "command" || name == "builtin")) {
    if (++program == node.words.size()) return;
    is_plain = plain_text(node.words[program], name) && !name.starts_with('-');
    if (name == "-v" || name == "-V") return;
  }
  if (is_plain && name == "printf" && node.words.size() > program + 1) {
    std::string first;
    const bool is_known = plain_text(node.words[program + 1], first);
    if (!is_known && first.empty()) {
      assigned.emplace_back(kEveryName);
    } else if (first.starts_with("-v")) {
      std::string variable = first.substr(2);
      const bool is_next = variable.empty() && node.words.size() > program + 2;
      const bool is_sure = is_next ? plain_text(node.words[program + 2], variable) : is_known;
      assigned.push_back(is_sure ? variable.substr(0, variable.find('[')) : kEveryNameAnew);
    }
    return;
  }
  if (!is_plain || is_one_of(name, kRunners)) {
    const bool reads_in = name == "source" || name == ".";
    if (reads_in && program + 1 < node.words.size() && names_kept_file(node.words[program + 1])) {
      return;
    }
    assigned.emplace_back(reads_in || name == "eval" ? kEveryNameAnew : kEveryName);
    return;
  }
  if (name == "shift" || (name == "set" && node.words.size() > program + 1))
    assigned.emplace_back(kPositional);
  // cd changes a variable of its own.
  if (is_one_of(name, kChangers)) assigned.emplace_back("PWD");
  if (!is_one_of(name, kSetters)) return;
  assigned.emplace_back("REPLY");
  assigned.emplace_back("MAPFILE");
  for (std::size_t i = program + 1; i < node.words.size(); ++i) {
    std::string word;
    if (!plain_text(node.words[i], word) || word.find_first_of("{*?") != std::string::npos) {
      // declare X="$y": the name is plain although the value is not.
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos || !is_name(word.substr(0, equals))) {
        assigned.emplace_back(kEveryNameAnew);
        return;
      }
    }
    std::size_t end = 0;
    while (end < word.size() && is_name_char(word[end])) ++end;
    assigned.push_back(word.substr(0, end));
  }
}

// An arithmetic text that assigns may assign every name in it.
void Parser::note_arithmetic(std::size_t begin, std::size_t end) {
  const std::string_view text = text_.substr(begin, std::min(end, limit_) - begin);
  if (text.find('=') == std::string_view::npos && text.find("++") == std::string_view::npos &&
      text.find("--") == std::string_view::npos) {
    return;
  }
  for (std::size_t at = 0; at < text.size();) {
    std::size_t last = at;
    while (last < text.size() && is_name_char(text[last])) ++last;
    if (last > at) tree_.assigned.emplace_back(text.substr(at, last - at));
    at = last + 1;
  }
}

}  // namespace sbx::shell
