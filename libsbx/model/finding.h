// SPDX-License-Identifier: Apache-2.0
// A span of a command's text, and what a rule found there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sbx {

// A half-open range of bytes of the text that was given.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

enum class Verdict : std::uint8_t { kAllow, kAsk, kDeny };  // the strongest wins
const char* verdict_name(Verdict verdict);

struct Finding {
  std::string id;  // the rule, such as "denied-command", "destructive.rm-outside"; never renamed
  Verdict verdict = Verdict::kDeny;
  std::string reason;   // one sentence for people
  Span span;            // of the words at fault
  std::string program;  // the program's name, where one is at fault
  std::string target;   // the path or argument at fault; may be empty
  std::string grant;    // what the operator would add: a profile path and value; may be empty
};

}  // namespace sbx
