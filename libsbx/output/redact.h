// SPDX-License-Identifier: Apache-2.0
// Redactor: a stream of bytes → the same stream with [REDACTED] in place of its secrets. It works
// on lines, so the last line is held back until it ends; lines over 64 KiB are handled in windows
// that see 4 KiB before and 16 KiB behind the part that they decide about. What comes out does not
// depend on how the stream was cut into calls. Values only; a stream without output costs nothing,
// one without keywords a single pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "output/literal_set.h"
#include "output/private_key.h"
#include "output/rule_set.h"

namespace re2 {
class RE2;
}

namespace sbx {

struct RuleCount {
  std::string rule;  // a format's id, "exact-value", or "pattern-N" (from 1)
  std::uint64_t count = 0;
};

inline constexpr std::string_view kReplacement = "[REDACTED]";

struct SecretSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Redactor {
 public:
  using Sink = std::function<void(std::string_view)>;

  // `exact_values` are looked for in all their forms (exact_values.h).
  Redactor(std::shared_ptr<const RuleSet> rules, std::vector<std::string> exact_values);

  // What follows is a shell's text: a command stands behind the value of an assignment.
  void set_shell() { is_shell_ = true; }

  // Gives the sink what is decided. Never holds back more than 64 KiB.
  void append(std::string_view bytes, const Sink& sink);
  // The line so far is all there is for now: it is decided as it stands. What goes on behind it is
  // a line of its own.
  void settle(const Sink& sink);
  // The line so far, as it stands, is for the caller's eye: given out as far as nothing in it is,
  // or may yet become, more of a secret than its first 7 bytes; nothing where the profile has
  // patterns of its own. It is decided with what follows.
  void show(const Sink& sink);
  // The end of the stream: the rest is decided. Nothing may be appended afterwards.
  void finish(const Sink& sink);
  // Instead of all of these: where secrets are in a text that is there whole, in order.
  std::vector<SecretSpan> find(std::string_view text);

  // Of the bytes that were appended: those up to the end of what the sink has been given, or is
  // being given. Of these, what [REDACTED] stands for, and what went without a mark.
  std::uint64_t given() const { return given_; }

  std::uint64_t count() const;
  // Rules that found something, exact values first, then in the order of the data file.
  std::vector<RuleCount> counts() const;

 private:
  struct Span {
    std::size_t begin;
    std::size_t end;
    std::size_t rule;
  };
  // From where on in plain_ the text is that from there on in the text.
  struct Piece {
    std::size_t plain;
    std::size_t text;
  };

  std::size_t showable();
  const LiteralSet& exact();
  std::size_t consume(std::string_view text, bool at_end, const Sink& sink);
  std::size_t redact(std::string_view text, std::size_t own_end, const Sink& sink);
  void give(std::string_view text, const Sink& sink);
  void give_owed(const Sink& sink);
  void find_spans(std::string_view text, std::size_t own_end);
  void settle_spans(std::size_t own_end);
  void find_formats(std::string_view text, std::size_t from, std::size_t keys_end);
  bool find_behind_colours(std::string_view text, std::size_t from, bool as_words);
  std::size_t find_private_key(std::string_view text, std::size_t line_begin, std::size_t at,
                               std::size_t format);
  std::size_t follow_private_key(std::string_view text, std::size_t at);
  void add_key_span(std::size_t begin, std::size_t end);
  void find_exact_values(std::string_view text);
  void find_patterns(std::string_view text);
  void match_all(const re2::RE2& expression, std::string_view text, std::size_t line_begin,
                 std::size_t line_end, std::size_t rule, double least_entropy, bool whole);
  std::size_t match_value(std::string_view line, std::size_t line_begin, std::size_t at,
                          std::size_t format);
  void match_call(std::string_view line, std::size_t line_begin, std::size_t at,
                  std::size_t format);
  void match_url(std::string_view line, std::size_t line_begin, std::size_t at, std::size_t format);
  std::shared_ptr<const RuleSet> rules_;
  std::vector<std::string> exact_values_;
  std::unique_ptr<LiteralSet> exact_;  // once it is asked for: most streams are empty
  std::string held_;
  std::size_t before_ = 0;  // of held_: decided already, and seen again for what comes behind it
  std::size_t shown_ = 0;   // of held_: given out already
  std::string plain_;       // the text without its colours
  std::vector<Piece> pieces_;
  PrivateKeyBlock key_;
  std::size_t key_rule_ = 0;      // kContinuation once the key that is open has been replaced
  std::size_t key_format_ = 0;    // its rule
  bool key_is_reopened_ = false;  // in this text, behind something else
  bool key_in_text_ = false;      // the last span is that key's
  // What follows the key's text so far: swallowed if the key goes on, given out if it does not.
  std::string owed_;
  std::size_t owed_from_ = 0;  // in this text; npos: nothing of it
  std::uint64_t given_ = 0;
  std::vector<std::uint64_t> counts_;
  std::vector<LiteralHit> hits_;
  bool is_shell_ = false;
  std::vector<Span> spans_;
  std::vector<std::size_t> searched_;  // by format: where the line last searched begins, plus one
};

}  // namespace sbx
