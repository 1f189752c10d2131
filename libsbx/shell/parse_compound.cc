// SPDX-License-Identifier: Apache-2.0
// The parser's compound commands: groups, branches, loops, case, functions, tests.
#include <utility>

#include "shell/parser_impl.h"

namespace sbx::shell {

// False, and nothing read: the word begins a simple command here.
bool Parser::parse_compound(SyntaxNode& node, std::string_view word) {
  const Deeper deeper(*this);
  if (failed_) return true;
  const std::size_t first_name = tree_.assigned.size();
  if (word == "in" || word == "!") return false;
  if (word == "{") {
    take_reserved("{");
    node.kind = SyntaxKind::kGroup;
    node.blocks.emplace_back();
    parse_block(node.blocks[0]);
    expect_reserved("}");
  } else if (word == "if") {
    parse_if(node);
  } else if (word == "while" || word == "until") {
    take_reserved(word);
    node.kind = SyntaxKind::kLoop;
    node.blocks.emplace_back();
    parse_block(node.blocks[0]);
    parse_loop_body(node);
  } else if (word == "for" || word == "select") {
    take_reserved(word);
    parse_for(node);
  } else if (word == "case") {
    parse_case(node);
  } else if (word == "function") {
    parse_function(node);
  } else if (word == "coproc") {
    parse_coprocess(node);
  } else if (word == "[[") {
    parse_test(node);
  } else {
    fail("a word of the grammar stands where none can");
  }
  node.assigned = names_since(first_name);
  return true;
}

void Parser::parse_parenthesis(SyntaxNode& node) {
  const Deeper deeper(*this);
  if (failed_) return;
  const std::size_t first_name = tree_.assigned.size();
  if (next_is('(', '(')) {
    const std::size_t inner = past_continuations(pos_ + 1) + 1;
    const std::size_t end = arithmetic_end(inner);
    if (failed_) return;
    if (end != std::string_view::npos) {
      node.kind = SyntaxKind::kArithmetic;
      pos_ = inner;
      parse_range(Stop::kDocument, end, node.arithmetic);
      note_arithmetic(inner, end);
      if (!failed_) pos_ = end + 2;
      node.assigned = names_since(first_name);
      return;
    }
  }
  ++pos_;
  node.kind = SyntaxKind::kSubshell;
  node.blocks.emplace_back();
  parse_block(node.blocks[0]);
  expect(')', "a parenthesis is not closed");
  node.assigned = names_since(first_name);
}

void Parser::parse_if(SyntaxNode& node) {
  node.kind = SyntaxKind::kIf;
  bool goes_on = take_reserved("if");
  while (goes_on && !failed_) {
    node.blocks.emplace_back();
    parse_block(node.blocks.back());
    expect_reserved("then");
    if (failed_) return;
    node.blocks.emplace_back();
    parse_block(node.blocks.back());
    goes_on = !failed_ && take_reserved("elif");
  }
  if (!failed_ && take_reserved("else")) {
    node.blocks.emplace_back();
    parse_block(node.blocks.back());
  }
  expect_reserved("fi");
}

void Parser::parse_loop_body(SyntaxNode& node) {
  if (failed_) return;
  const bool has_braces = reserved().word == "{";  // for x; { …; }
  expect_reserved(has_braces ? "{" : "do");
  if (failed_) return;
  node.blocks.emplace_back();
  parse_block(node.blocks.back());
  expect_reserved(has_braces ? "}" : "done");
}

void Parser::parse_for(SyntaxNode& node) {
  skip_blanks();
  if (next_is('(', '(')) {
    const std::size_t inner = past_continuations(pos_ + 1) + 1;
    const std::size_t end = arithmetic_end(inner);
    if (failed_) return;
    if (end == std::string_view::npos) return fail("a parenthesis is not closed");
    node.kind = SyntaxKind::kArithmeticFor;
    pos_ = inner;
    parse_range(Stop::kDocument, end, node.arithmetic);
    note_arithmetic(inner, end);
    if (!failed_) pos_ = end + 2;
  } else {
    node.kind = SyntaxKind::kFor;
    WordNode name;
    parse_word(name);
    if (failed_) return;
    if (!plain_text(name, node.name) || node.name.empty()) return fail("a loop has no variable");
    node.name_span = name.span;
    tree_.assigned.push_back(node.name);
    skip_newlines();
    node.has_in = take_reserved("in");
    while (node.has_in && !failed_) {
      skip_blanks();
      if (at_end() || (is_meta(text_[pos_]) && !next_is('<', '(') && !next_is('>', '('))) break;
      WordNode word;
      parse_word(word);
      node.words.push_back(std::move(word));
    }
  }
  if (failed_) return;
  skip_blanks();
  take(';');
  skip_newlines();
  parse_loop_body(node);
}

void Parser::parse_case(SyntaxNode& node) {
  node.kind = SyntaxKind::kCase;
  take_reserved("case");
  skip_blanks();
  node.words.emplace_back();
  parse_word(node.words[0]);
  skip_newlines();
  expect_reserved("in");
  while (!failed_) {
    skip_newlines();
    if (failed_ || take_reserved("esac")) return;
    if (at_end()) return fail("a case is not closed");
    take('(');
    while (!failed_) {
      skip_blanks();
      const std::size_t begin = pos_;
      WordNode pattern;
      parse_word(pattern);
      if (pos_ == begin) fail("a pattern is missing");
      node.patterns.push_back(std::move(pattern));
      skip_blanks();
      if (!take('|')) break;
    }
    expect(')', "a pattern is not closed");
    if (failed_) return;
    node.blocks.emplace_back();
    parse_block(node.blocks.back());
    if (failed_) return;
    skip_blanks();
    if (take(';')) {
      const bool goes_on = take(';');  // ;; ;;& or ;&
      if (!take('&') && !goes_on) return fail("a branch is not closed");
    } else if (reserved().word != "esac") {
      return fail("a branch is not closed");
    }
  }
}

void Parser::parse_function(SyntaxNode& node) {
  take_reserved("function");
  skip_blanks();
  WordNode name;
  parse_word(name);
  if (failed_) return;
  if (!plain_text(name, node.name) || node.name.empty()) return fail("a function has no name");
  node.name_span = name.span;
  skip_blanks();
  if (next_is('(', ')') || (is_at('(') && is_blank(peek(1)))) {
    ++pos_;
    skip_blanks();
    expect(')', "a parenthesis is not closed");
  }
  parse_function_body(node);
}

void Parser::parse_function_body(SyntaxNode& node) {
  node.kind = SyntaxKind::kFunction;
  const Deeper deeper(*this);
  skip_newlines();
  if (failed_) return;
  node.children.emplace_back();
  parse_command(node.children[0]);
}

void Parser::parse_coprocess(SyntaxNode& node) {
  node.kind = SyntaxKind::kCoprocess;
  take_reserved("coproc");
  skip_blanks();
  const auto at_compound = [this] {
    const std::string_view word = reserved().word;
    return is_at('(') || (!word.empty() && word != "!" && word != "in" && word != "time");
  };
  if (!at_compound()) {
    const std::size_t begin = pos_;
    while (!at_end() && is_name_char(text_[pos_])) ++pos_;
    node.name = text_.substr(begin, pos_ - begin);
    const bool has_name = !at_end() && is_blank(text_[pos_]);
    skip_blanks();
    if (!has_name || !at_compound()) {
      pos_ = begin;
      node.name.clear();
    }
  }
  tree_.assigned.push_back(node.name.empty() ? "COPROC" : node.name);
  node.children.emplace_back();
  parse_command(node.children[0]);
}

void Parser::parse_test(SyntaxNode& node) {
  node.kind = SyntaxKind::kTest;
  take_reserved("[[");
  bool is_regex = false;
  while (!failed_) {
    skip_newlines();
    if (failed_ || take_reserved_test_end()) return;
    if (at_end()) return fail("[[ is not closed");
    const char c = text_[pos_];
    const bool is_process = (c == '<' || c == '>') && next_is(c, '(');
    if (!is_regex && is_meta(c) && !is_process) {
      if (c == ';') return fail("[[ is not closed");
      ++pos_;
      continue;
    }
    const std::size_t begin = pos_;
    WordNode word;
    parse_word(word, is_regex ? Stop::kRegex : Stop::kWord);
    if (pos_ == begin) return fail("[[ is not closed");
    is_regex = !is_regex && text_.substr(begin, pos_ - begin) == "=~";
    node.words.push_back(std::move(word));
  }
}

bool Parser::take_reserved_test_end() {
  if (!is_at(']') || peek(1) != ']') return false;
  if (pos_ + 2 < limit_ && !is_meta(text_[pos_ + 2])) return false;
  pos_ += 2;
  return true;
}

}  // namespace sbx::shell
