// SPDX-License-Identifier: Apache-2.0
// Verdict: what the command policy says of one request before it runs. Advice from the text; the
// force is the sandbox's. Values only: no I/O.
#pragma once

#include <string>
#include <vector>

#include "guard/reading.h"
#include "policy/policy.h"

namespace sbx {

enum class Verdict : std::uint8_t { kAllow, kAsk, kDeny };  // the strongest wins
const char* verdict_name(Verdict verdict);                  // "allow", "ask", "deny"

struct Finding {
  std::string id;  // the rule, such as "denied-command", "destructive.rm-outside"; never renamed
  Verdict verdict = Verdict::kDeny;
  std::string reason;   // one sentence for people
  Span span;            // of the words at fault
  std::string program;  // the program's name, where one is at fault
  std::string target;   // the path or argument at fault; may be empty
  std::string grant;    // what the operator would add: a profile path and value; may be empty
};

struct Judgement {
  Verdict verdict = Verdict::kAllow;
  std::vector<Finding> findings;  // strongest first, then by span
  std::vector<Unknown> unknown;
};

// `cwd` is the absolute working directory of the command. Pure and thread-safe.
Judgement judge(const Policy& policy, const Request& request, const std::string& cwd);

}  // namespace sbx
