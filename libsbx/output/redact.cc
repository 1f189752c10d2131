// SPDX-License-Identifier: Apache-2.0
// Keywords first, in one pass over all complete lines; then, only in lines that hold one, the
// expressions that belong to it.
#include "output/redact.h"

#include <re2/re2.h>

#include <algorithm>
#include <numeric>

#include "base/ascii.h"
#include "output/assignment.h"
#include "output/client_call.h"
#include "output/exact_values.h"
#include "output/secret_formats.h"
#include "output/url_password.h"

namespace sbx {
namespace {

constexpr std::size_t kWindow = 64 << 10;
constexpr std::size_t kOverlap = 16 << 10;  // what a window sees behind its own part
constexpr std::size_t kBefore = 4 << 10;    // and before it: a name, a scheme, a command
constexpr int kMostGroups = 4;              // of a format's expression

// Rules: the exact values, then the formats, then the profile's patterns. A secret that several
// find is counted for the first.
constexpr std::size_t kExactRule = 0;
constexpr std::size_t kFirstFormat = 1;
constexpr std::size_t kContinuation = static_cast<std::size_t>(-1);  // of a key already counted

enum ExactTag : std::uint16_t { kAsIs, kBase64 };

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

bool is_base64(char c) {
  return is_alphanumeric(c) || std::string_view("+/-_=").find(c) != std::string_view::npos;
}

// Not a piece of a longer run of base64.
bool stands_alone(std::string_view line, std::size_t begin, std::size_t end) {
  const auto goes_on = [line](std::size_t at) {
    return at < line.size() && line[at] != '-' && line[at] != '_' && line[at] != '=' &&
           is_base64(line[at]);
  };
  return !(begin > 0 && goes_on(begin - 1)) && !goes_on(end);
}

bool is_key_rule(std::size_t rule) {
  if (rule == kContinuation) return true;
  return rule >= kFirstFormat && rule - kFirstFormat < secret_formats().size() &&
         secret_formats()[rule - kFirstFormat].match == FormatMatch::kPrivateKey;
}

std::size_t line_end_at(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

constexpr std::size_t kIntroducer = 2;  // ESC [

// Where the escape (ESC [ … m and its kind) at text[at] ends. To one without an end, or with more
// of ' ' to '/' in it than any has (`ESC [ -----BEGIN`), nothing belongs but what introduces it.
std::size_t escape_end(std::string_view text, std::size_t at) {
  std::size_t end = at + kIntroducer;
  while (end < text.size() && text[end] >= '0' && text[end] <= '?') ++end;
  if (end < text.size() && text[end] >= ' ' && text[end] <= '/') ++end;
  const bool has_end = end < text.size() && text[end] >= '@' && text[end] <= '~';
  return has_end ? end + 1 : at + kIntroducer;
}

// What leaves the cursor where it is: a colour, or "erase to the end of the line" as grep adds.
bool is_colour(std::string_view escape) { return escape.ends_with('m') || escape.ends_with('K'); }

// Escapes become spaces, which a word ends at.
void blank_escapes(std::string& text) {
  for (std::size_t at = text.find("\x1b["); at < text.size(); at = text.find("\x1b[", at)) {
    const std::size_t end = escape_end(text, at);
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
              text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    at = end;
  }
}

}  // namespace

Redactor::Redactor(std::shared_ptr<const RuleSet> rules, std::vector<std::string> exact_values)
    : rules_(std::move(rules)), exact_values_(std::move(exact_values)) {}

void Redactor::append(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    if (held_.empty()) {
      bytes.remove_prefix(consume(bytes, false, sink));
      held_.assign(bytes);
      return;
    }
    // Just enough to decide about the line that is held.
    const std::size_t line = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
    const std::size_t taken = std::min(line, kWindow - held_.size());
    held_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (held_.back() == '\n' || held_.size() == kWindow) {
      held_.erase(0, consume(held_, false, sink));
    }
  }
}

void Redactor::settle(const Sink& sink) {
  consume(held_, true, sink);
  held_.clear();
  before_ = 0;
}

// How much of a line that goes on may be shown: nothing of a value behind an equals sign or a
// quotation mark, and of its last word, as of an exact value that it may be in, only a few bytes.
std::size_t Redactor::showable() {
  constexpr std::size_t kShortWord = 7;
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  const std::string_view held = held_;
  std::size_t word = held.size();
  while (word > 0 && !is_space(held[word - 1])) --word;
  std::size_t end = held.size() - word <= kShortWord ? held.size() : word;
  for (std::size_t at = 0; at < end; ++at) {
    const bool is_apostrophe =
        held[at] == '\'' && at > 0 && std::isalnum(static_cast<unsigned char>(held[at - 1])) != 0;
    if (held[at] == '=' || held[at] == '"' || (held[at] == '\'' && !is_apostrophe)) end = at + 1;
  }
  const std::size_t begun = exact_values_.empty() ? 0 : exact().begun_by(held);
  if (begun > kShortWord) end = std::min(end, held.size() - begun + kShortWord);
  return end;
}

void Redactor::show(const Sink& sink) {
  if (held_.size() <= shown_ || key_.is_open() || !owed_.empty()) return;
  if (!rules_->patterns().empty()) return;  // what one of them takes may have begun anywhere
  // Of a long line a later window decides about what begins behind the first one's own part.
  const std::size_t end = std::min(showable(), kWindow - kOverlap);
  const std::size_t begin = std::max(shown_, before_);
  if (end <= begin) return;
  Redactor as_it_stands(rules_, exact_values_);
  as_it_stands.held_ = held_;
  as_it_stands.before_ = before_;
  as_it_stands.key_ = key_;  // which may go on
  as_it_stands.key_format_ = key_format_;
  as_it_stands.finish([](std::string_view) {});
  if (as_it_stands.count() != 0) return;
  give(std::string_view(held_).substr(begin, end - begin), sink);
  shown_ = end;
}

void Redactor::give(std::string_view text, const Sink& sink) {
  given_ += text.size();
  sink(text);
}

void Redactor::give_owed(const Sink& sink) {
  if (!owed_.empty()) give(owed_, sink);
  owed_.clear();
}

void Redactor::finish(const Sink& sink) {
  settle(sink);
  give_owed(sink);
}

// Decides about all complete lines of `text`, which begins a line but for what stands before; gives
// from where on it is still needed.
std::size_t Redactor::consume(std::string_view text, bool at_end, const Sink& sink) {
  std::size_t begin = 0;
  while (begin + before_ < text.size()) {
    const std::string_view window = text.substr(begin, kWindow);
    const std::size_t newline = window.rfind('\n');
    std::size_t done = 0;
    if (newline != std::string_view::npos) {
      done = redact(window.substr(0, newline + 1), newline + 1, sink);
      before_ = 0;
    } else if (window.size() == kWindow) {
      // A secret that begins in the overlap is left to the next window, which sees all of it, and
      // what stands before it.
      done = redact(window, kWindow - kOverlap, sink);
      before_ = kBefore;
    } else if (at_end) {
      done = redact(window, window.size(), sink);
      before_ = 0;
    } else {
      break;
    }
    begin += done - before_;
  }
  return begin;
}

// Gives the sink the text behind what stands before, up to `own_end`, or to the end of a secret
// that begins before it.
std::size_t Redactor::redact(std::string_view text, std::size_t own_end, const Sink& sink) {
  find_spans(text, own_end);
  if (owed_from_ != before_) give_owed(sink);
  const std::size_t shown = std::exchange(shown_, 0);
  std::size_t done = std::max(shown, before_);
  for (const Span& span : spans_) {
    if (span.begin > done) give(text.substr(done, span.begin - done), sink);
    const bool is_shown = span.end <= shown;
    given_ += std::max(done, span.end) - std::max(done, span.begin);
    done = std::max(done, span.end);
    if (span.rule == kContinuation) continue;
    if (!is_shown) sink(kReplacement);
    ++counts_[span.rule];
  }
  if (owed_from_ != std::string_view::npos) {
    owed_ += text.substr(std::max(owed_from_, shown));
    return text.size();
  }
  const std::size_t end = std::max(done, key_.is_open() ? text.size() : own_end);
  if (done < end) give(text.substr(done, end - done), sink);
  return end;
}

void Redactor::find_spans(std::string_view text, std::size_t own_end) {
  const std::size_t formats = secret_formats().size();
  if (counts_.empty()) counts_.resize(kFirstFormat + formats + rules_->patterns().size());
  spans_.clear();
  key_in_text_ = false;
  if (!key_.is_open()) key_is_reopened_ = false;
  owed_from_ = std::string_view::npos;
  const bool has_escapes = text.find("\x1b[") != std::string_view::npos;
  if (has_escapes) {
    plain_.assign(text);
    blank_escapes(plain_);
  }
  const std::string_view plain = has_escapes ? std::string_view(plain_) : text;
  std::size_t from = 0;
  if (key_.is_open()) {
    from = follow_private_key(plain, before_);
    const bool goes_on = !spans_.empty() && spans_.front().rule == kContinuation;
    if (goes_on) {
      given_ += owed_.size();
      owed_.clear();
    }
    if (key_.is_open() && !key_is_reopened_) return settle_spans(own_end);
  } else if (key_.is_near()) {
    follow_private_key(plain, before_);
  }
  find_formats(plain, from, own_end);
  if (has_escapes && find_behind_colours(text, from, false)) find_behind_colours(text, from, true);
  if (!exact_values_.empty()) find_exact_values(text);
  if (!rules_->patterns().empty()) find_patterns(text);
  settle_spans(own_end);
}

// Those that are decided about here, in order, and of those that overlap one. A key whose header is
// this window's own is, too, though its text may begin behind it.
void Redactor::settle_spans(std::size_t own_end) {
  std::erase_if(spans_, [&](const Span& span) {
    return span.end <= before_ || (span.begin >= own_end && !is_key_rule(span.rule));
  });
  for (Span& span : spans_) span.begin = std::max(span.begin, before_);
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.rule != b.rule && (a.rule == kContinuation || a.rule < b.rule);
  });
  std::size_t count = 0;
  for (const Span next : spans_) {
    if (count == 0 || next.begin >= spans_[count - 1].end) {
      spans_[count++] = next;
      continue;
    }
    Span& merged = spans_[count - 1];
    merged.end = std::max(merged.end, next.end);
    if (is_key_rule(next.rule) || (!is_key_rule(merged.rule) && next.rule < merged.rule)) {
      merged.rule = next.rule;
    }
  }
  spans_.resize(count);
}

std::vector<SecretSpan> Redactor::find(std::string_view text) {
  find_spans(text, text.size());
  std::vector<SecretSpan> places;
  for (const Span& span : spans_) places.push_back({span.begin, span.end});
  return places;
}

// A word that is coloured in part, as by `grep --color`: the lines with colours once more, without
// them. What is found goes with the colours within. Gives whether what seems to end an
// escape may begin a word instead (`ESC [ ghp_…`): with `as_words` it does.
bool Redactor::find_behind_colours(std::string_view text, std::size_t from, bool as_words) {
  bool has_words = false;
  plain_.clear();
  pieces_.clear();
  for (std::size_t at = text.find("\x1b[", from); at < text.size();) {
    const std::size_t line_begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    const std::size_t line_end = line_end_at(text, at);
    std::size_t done = std::max(line_begin, from);
    for (; at < line_end; at = text.find("\x1b[", done)) {
      pieces_.push_back({plain_.size(), done});
      plain_ += text.substr(done, at - done);
      done = escape_end(text, at);
      if (is_colour(text.substr(at, done - at))) continue;
      plain_ += ' ';
      if (done == text.size() || !is_base64(text[done])) continue;
      has_words = true;
      if (as_words) done = std::max(done - 1, at + kIntroducer);
    }
    pieces_.push_back({plain_.size(), done});
    plain_ += text.substr(done, line_end - std::min(done, line_end));
    plain_ += '\n';
  }
  const std::size_t first = spans_.size();
  find_formats(plain_, 0, 0);
  if (!exact_values_.empty()) find_exact_values(plain_);
  if (!rules_->patterns().empty()) find_patterns(plain_);
  const auto place = [this](std::size_t at) {
    const auto next = std::upper_bound(
        pieces_.begin(), pieces_.end(), at,
        [](std::size_t wanted, const Piece& piece) { return wanted < piece.plain; });
    return std::prev(next)->text + (at - std::prev(next)->plain);
  };
  for (std::size_t i = first; i < spans_.size(); ++i) {
    spans_[i].begin = place(spans_[i].begin);
    spans_[i].end = place(spans_[i].end - 1) + 1;
  }
  return has_words;
}

// Takes what belongs to the open key from the line at `at` on; gives its end, `at` where nothing
// does.
std::size_t Redactor::follow_private_key(std::string_view text, std::size_t at) {
  std::size_t end = at;      // of what nothing else stands within
  std::size_t key_end = at;  // of all
  std::size_t line_begin = at;
  while ((key_.is_open() || key_.is_near()) && line_begin < text.size()) {
    const std::size_t line_end = line_end_at(text, line_begin);
    const std::string_view line = text.substr(line_begin, line_end - line_begin);
    PrivateKeyBlock::Part part;
    if (key_.is_open()) part = key_.continue_line(line);
    if (part.empty() && key_.is_near()) {
      part = key_.look_again(line);
      if (!part.empty()) key_rule_ = key_format_;
      key_is_reopened_ = key_is_reopened_ || !part.empty();
    }
    if (!part.empty()) {
      key_end = line_begin + part.end;
      if (!key_is_reopened_) end = key_end;
      add_key_span(line_begin + part.begin, key_end);
    }
    line_begin = line_end + 1;
  }
  if (key_.is_open() && key_rule_ == kContinuation) owed_from_ = key_end;
  return end;
}

// The first part of a key is replaced; what follows of it goes without another trace.
void Redactor::add_key_span(std::size_t begin, std::size_t end) {
  if (key_rule_ != kContinuation) {
    spans_.push_back({begin, end, key_rule_});
    key_rule_ = kContinuation;
  } else if (spans_.empty() || !key_in_text_) {
    spans_.push_back({0, end, kContinuation});
  } else {
    spans_.back().end = end;
  }
  key_in_text_ = true;
}

std::size_t Redactor::find_private_key(std::string_view text, std::size_t line_begin,
                                       std::size_t at, std::size_t format) {
  const std::size_t line_end = line_end_at(text, at);
  const auto part = key_.begin(text.substr(line_begin, line_end - line_begin), at - line_begin);
  key_rule_ = key_format_ = kFirstFormat + format;
  key_in_text_ = key_is_reopened_ = false;
  std::size_t end = at;
  if (!part.empty()) {
    end = line_begin + part.end;
    add_key_span(line_begin + part.begin, end);
  }
  if (!key_.is_open()) return end;
  const std::size_t next = std::min(line_end + 1, text.size());
  const std::size_t followed = follow_private_key(text, next);
  if (key_.is_open() && key_rule_ == kContinuation && !key_is_reopened_) {
    owed_from_ = std::max(end, followed > next ? followed : 0);
  }
  return std::max(end, followed > next ? followed : 0);
}

// Private keys only where one begins before `keys_end`.
void Redactor::find_formats(std::string_view text, std::size_t from, std::size_t keys_end) {
  hits_.clear();
  secret_keywords(text.size()).find(text, hits_);
  if (hits_.empty()) return;
  std::sort(hits_.begin(), hits_.end(),
            [](const LiteralHit& a, const LiteralHit& b) { return a.begin < b.begin; });
  searched_.assign(secret_formats().size(), 0);
  std::size_t line_begin = 0;
  std::size_t line_end = 0;
  std::size_t judged = 0;
  for (const LiteralHit& hit : hits_) {
    if (hit.begin < from) continue;
    if (hit.begin >= line_end) {
      line_begin = hit.begin == 0 ? 0 : text.rfind('\n', hit.begin - 1) + 1;
      line_end = line_end_at(text, hit.begin);
    }
    const SecretFormat format = secret_formats()[hit.tag];
    switch (format.match) {
      case FormatMatch::kText:
        if (searched_[hit.tag] == line_begin + 1) break;
        searched_[hit.tag] = line_begin + 1;
        match_all(rules_->expression(hit.tag), text, line_begin, line_end, kFirstFormat + hit.tag,
                  format.entropy, format.whole);
        break;
      case FormatMatch::kValue:
        match_call(text.substr(line_begin, line_end - line_begin), line_begin,
                   hit.begin - line_begin, hit.tag);
        [[fallthrough]];
      case FormatMatch::kAssignment:
        if (hit.begin < judged) break;
        judged = match_value(text.substr(line_begin, line_end - line_begin), line_begin,
                             hit.begin - line_begin, hit.tag);
        break;
      case FormatMatch::kUrl:
        match_url(text.substr(line_begin, line_end - line_begin), line_begin,
                  hit.begin - line_begin, hit.tag);
        break;
      case FormatMatch::kPrivateKey:
        if (hit.begin >= before_ && hit.begin < keys_end)
          from = find_private_key(text, line_begin, hit.begin, hit.tag);
        break;
    }
  }
}

// Gives where a long value ends that is a secret, 0 for any other: names within it need no look.
std::size_t Redactor::match_value(std::string_view line, std::size_t line_begin, std::size_t at,
                                  std::size_t format) {
  std::optional<NamedValue> found = read_assignment(line, at, kNear, is_shell_);
  if (!found || found->value.empty()) return 0;
  const SecretFormat wanted = secret_formats()[format];
  if (wanted.match == FormatMatch::kAssignment) {
    if (!holds_secret(*found)) return 0;
  } else {
    if (names_something_else(found->name) || entropy_of(found->value) < wanted.entropy ||
        !re2::RE2::FullMatch(piece(found->value), rules_->expression(format))) {
      return 0;
    }
  }
  constexpr std::size_t kMark = 8;  // what is looked at behind a value's end
  const bool goes_on = line.size() - at > kNear && found->value_end + kMark >= at + kNear;
  if (goes_on) {
    const std::optional<NamedValue> whole = read_assignment(line, at, line.size(), is_shell_);
    if (whole && whole->value_end > found->value_end) found = whole;
  }
  const std::size_t end = wanted.match == FormatMatch::kAssignment
                              ? found->value_end
                              : found->value_begin + found->value.size();
  spans_.push_back({line_begin + found->value_begin, line_begin + end, kFirstFormat + format});
  return goes_on ? line_begin + end : 0;
}

void Redactor::match_call(std::string_view line, std::size_t line_begin, std::size_t at,
                          std::size_t format) {
  for (const ClientKey& key : find_client_keys(line, at)) {
    spans_.push_back({line_begin + key.begin, line_begin + key.end, kFirstFormat + format});
  }
}

void Redactor::match_url(std::string_view line, std::size_t line_begin, std::size_t at,
                         std::size_t format) {
  const auto found = find_url_password(line, at);
  if (!found) return;
  spans_.push_back({line_begin + found->begin, line_begin + found->end, kFirstFormat + format});
}

void Redactor::match_all(const re2::RE2& expression, std::string_view text, std::size_t line_begin,
                         std::size_t line_end, std::size_t rule, double least_entropy, bool whole) {
  const std::string_view line = text.substr(line_begin, line_end - line_begin);
  // A format has a group for each way to quote its secret; a profile's pattern has one that counts.
  const int most = rule < kFirstFormat + secret_formats().size() ? kMostGroups : 1;
  const int groups = 1 + std::min(expression.NumberOfCapturingGroups(), most);
  re2::StringPiece found[1 + kMostGroups];
  for (std::size_t at = 0; at <= line.size();) {
    if (!expression.Match(piece(line), at, line.size(), re2::RE2::UNANCHORED, found, groups)) {
      return;
    }
    const auto* const taken = std::find_if(
        found + 1, found + groups, [](const auto& group) { return group.data() != nullptr; });
    const re2::StringPiece secret = taken == found + groups ? found[0] : *taken;
    const auto begin = static_cast<std::size_t>(secret.data() - line.data());
    if (!secret.empty() && !secret.starts_with(piece(kReplacement)) &&
        entropy_of({secret.data(), secret.size()}) >= least_entropy &&
        (!whole || stands_alone(line, begin, begin + secret.size()))) {
      spans_.push_back({line_begin + begin, line_begin + begin + secret.size(), rule});
    }
    const auto end = static_cast<std::size_t>(found[0].data() - line.data()) + found[0].size();
    at = std::max(end, at + (found[0].empty() ? 1 : 0));
  }
}

const LiteralSet& Redactor::exact() {
  if (!exact_) {
    exact_ = std::make_unique<LiteralSet>();
    for (const ExactForm& form : exact_forms(exact_values_)) {
      exact_->add(form.text, form.base64 ? kBase64 : kAsIs);
    }
    exact_->build();
  }
  return *exact_;
}

void Redactor::find_exact_values(std::string_view text) {
  hits_.clear();
  exact().finder().find(text, hits_);
  for (LiteralHit hit : hits_) {
    if (hit.tag == kBase64) {
      if (hit.begin > 0 && is_base64(text[hit.begin - 1])) --hit.begin;
      if (hit.end < text.size() && is_base64(text[hit.end])) ++hit.end;
      while (hit.end < text.size() && text[hit.end] == '=') ++hit.end;
    }
    spans_.push_back({hit.begin, hit.end, kExactRule});
  }
}

void Redactor::find_patterns(std::string_view text) {
  const auto patterns = rules_->patterns();
  const std::size_t first = kFirstFormat + secret_formats().size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = line_end_at(text, at);
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      match_all(*patterns[i], text, at, end, first + i, 0, false);
    }
    at = end + 1;
  }
}

std::uint64_t Redactor::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::vector<RuleCount> Redactor::counts() const {
  const auto formats = secret_formats();
  std::vector<RuleCount> result;
  for (std::size_t rule = 0; rule < counts_.size(); ++rule) {
    if (counts_[rule] == 0) continue;
    std::string name = "exact-value";
    if (rule >= kFirstFormat + formats.size()) {
      name = "pattern-" + std::to_string(rule - kFirstFormat - formats.size() + 1);
    } else if (rule >= kFirstFormat) {
      name = formats[rule - kFirstFormat].id;
    }
    result.push_back({std::move(name), counts_[rule]});
  }
  return result;
}

}  // namespace sbx
