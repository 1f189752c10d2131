// SPDX-License-Identifier: Apache-2.0
// The parser's redirections and here-documents. The body of a here-document is read at the newline
// behind its operator, once.
#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "shell/parser_impl.h"

namespace sbx::shell {
namespace {

constexpr int kFirstNamedFd = 10;  // what bash gives to {name}>
constexpr std::size_t kMaxFdDigits = 9;

}  // namespace

bool Parser::parse_redirection(std::vector<RedirectionNode>& redirections) {
  const std::size_t begin = pos_;
  RedirectionNode redirection;
  const auto at_operator = [this](std::size_t at) {
    at = past_continuations(at);
    if (at >= limit_ || (text_[at] != '<' && text_[at] != '>')) return false;
    const std::size_t next = past_continuations(at + 1);
    return next >= limit_ || text_[next] != '(';
  };
  if (is_at('&')) {
    if (!next_is('&', '>')) return false;
  } else if (is_at('{')) {
    std::size_t end = pos_ + 1;
    while (end < limit_ && (is_name_char(text_[end]) || text_[end] == '[' || text_[end] == ']'))
      ++end;
    if (end == pos_ + 1 || end >= limit_ || text_[end] != '}' || !at_operator(end + 1))
      return false;
    redirection.variable = text_.substr(pos_ + 1, end - pos_ - 1);
    tree_.assigned.push_back(redirection.variable);
    redirection.fd = kFirstNamedFd;
    pos_ = end + 1;
  } else {
    std::size_t end = pos_;
    int fd = 0;
    while (end < limit_ && end - pos_ < kMaxFdDigits && is_digit(text_[end])) {
      fd = fd * 10 + (text_[end] - '0');
      end = past_continuations(end + 1);
    }
    if (!at_operator(end)) return false;
    if (end > pos_) redirection.fd = fd;
    pos_ = end;
  }
  bool strips_tabs = false;
  if (!parse_operator(redirection, strips_tabs)) {
    pos_ = begin;
    return false;
  }
  skip_blanks();
  parse_target(redirection, strips_tabs);
  redirection.span = source_.span(begin, pos_);
  redirections.push_back(std::move(redirection));
  return true;
}

bool Parser::parse_operator(RedirectionNode& redirection, bool& strips_tabs) {
  const auto default_fd = [&redirection](int fd) {
    if (redirection.fd < 0) redirection.fd = fd;
  };
  if (take('&')) {
    take('>');
    redirection.kind = take('>') ? RedirectionKind::kAppend : RedirectionKind::kTruncate;
    return true;
  }
  if (take('<')) {
    default_fd(0);
    if (take('<')) {
      redirection.kind = RedirectionKind::kHere;
      redirection.is_string = take('<');
      redirection.is_document = !redirection.is_string;
      strips_tabs = redirection.is_document && take('-');
    } else if (take('&')) {
      redirection.kind = RedirectionKind::kDuplicate;
    } else {
      redirection.kind = RedirectionKind::kRead;
      take('>');
    }
    return true;
  }
  if (!take('>')) return false;
  const bool has_fd = redirection.fd >= 0;
  default_fd(1);
  redirection.kind = RedirectionKind::kTruncate;
  if (take('>')) {
    redirection.kind = RedirectionKind::kAppend;
  } else if (take('&')) {
    // Which of both it is shows in the target: >&2, >&FILE.
    redirection.kind = RedirectionKind::kDuplicate;
    if (!has_fd) redirection.fd = -1;
  } else {
    take('|');
  }
  return true;
}

void Parser::parse_target(RedirectionNode& redirection, bool strips_tabs) {
  const std::size_t begin = pos_;
  if (redirection.is_document) {
    Pending pending;
    pending.strips_tabs = strips_tabs;
    pending.document = tree_.documents.size();
    redirection.document = pending.document;
    tree_.documents.emplace_back();
    parse_delimiter(pending);
    if (failed_) return;
    redirection.target.span = source_.span(begin, pos_);
    add_text(redirection.target.parts, PartKind::kQuoted, begin, pending.delimiter);
    pending_.push_back(std::move(pending));
    return;
  }
  parse_word(redirection.target);
  if (pos_ == begin) return fail("a redirection has no target");
  if (redirection.kind != RedirectionKind::kDuplicate) return;
  std::string target;
  const bool is_plain = plain_text(redirection.target, target);
  bool is_descriptor = is_plain && !target.empty();
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (!is_digit(target[i]) && !(target[i] == '-' && i + 1 == target.size()))
      is_descriptor = false;
  }
  if (redirection.fd == -1 && is_descriptor) redirection.fd = 1;
  if (redirection.fd == -1) redirection.kind = RedirectionKind::kTruncate;  // >&FILE
}

// The word behind <<: only its quotes are removed.
void Parser::parse_delimiter(Pending& pending) {
  const std::size_t begin = pos_;
  while (!at_end()) {
    const char c = text_[pos_];
    if (c == '\\') {
      if (peek(1) != '\n') {
        pending.is_quoted = true;
        if (pos_ + 1 < limit_) pending.delimiter += text_[pos_ + 1];
      }
      pos_ = std::min(pos_ + 2, limit_);
    } else if (c == '\'' || c == '"') {
      pending.is_quoted = true;
      for (++pos_; !at_end() && text_[pos_] != c; ++pos_) pending.delimiter += text_[pos_];
      if (at_end()) return fail("a quote is not closed");
      ++pos_;
    } else if (c == '$' && (peek(1) == '\'' || peek(1) == '"')) {
      ++pos_;
    } else if (is_meta(c)) {
      break;
    } else {
      pending.delimiter += c;
      ++pos_;
    }
  }
  if (pos_ == begin) fail("a here-document has no delimiter");
}

void Parser::read_documents() {
  const std::vector<Pending> pending = std::exchange(pending_, {});
  for (const Pending& one : pending) {
    if (failed_for_good_) return;
    read_document(one);
  }
}

void Parser::read_document(const Pending& pending) {
  const std::size_t begin = pos_;
  while (pos_ < limit_) {
    const std::size_t line = pos_;
    std::size_t at = line;
    if (pending.strips_tabs) {
      while (at < limit_ && text_[at] == '\t') ++at;
    }
    // The line, joined over continuations where the body is expanded, against the delimiter.
    std::size_t matched = 0;
    bool is_same = true;
    while (at < limit_ && text_[at] != '\n') {
      if (!pending.is_quoted && text_[at] == '\\' && at + 1 < limit_) {
        if (text_[at + 1] != '\n') {
          is_same = false;
        }
        at += 2;
        continue;
      }
      if (is_same && matched == pending.delimiter.size() && substitutions_ > 0 &&
          text_[at] == ')') {
        pos_ = at;  // $(cat <<E … E)
        return parse_document(pending, begin, line);
      }
      is_same =
          is_same && matched < pending.delimiter.size() && text_[at] == pending.delimiter[matched];
      ++matched;
      ++at;
    }
    at = std::min(at, limit_);
    pos_ = std::min(at + 1, limit_);
    if (is_same && matched == pending.delimiter.size()) return parse_document(pending, begin, line);
  }
  parse_document(pending, begin, limit_);
}

// `pos_` stays where reading goes on, behind the body.
void Parser::parse_document(const Pending& pending, std::size_t begin, std::size_t end) {
  const std::size_t next = std::exchange(pos_, begin);
  std::vector<Part> body;
  if (pending.is_quoted) {
    std::string text;
    bool at_line_start = true;
    for (const char c : text_.substr(begin, end - begin)) {
      if (pending.strips_tabs && at_line_start && c == '\t') continue;
      at_line_start = c == '\n';
      text += c;
    }
    add_text(body, PartKind::kQuoted, begin, text);
    body.back().span = source_.span(begin, end);
  } else {
    const bool outer = std::exchange(strips_tabs_, pending.strips_tabs);
    parse_range(Stop::kDocument, end, body);
    strips_tabs_ = outer;
  }
  tree_.documents[pending.document] = std::move(body);
  pos_ = next;
}

}  // namespace sbx::shell
