// SPDX-License-Identifier: Apache-2.0
// Every flag, one row each: what reads them, refuses them, passes them on to a session's server,
// completes them and describes them goes by this table.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "options.h"
#include "verb_table.h"

namespace sbx {

struct FlagRow {
  const char* name;
  std::variant<std::string RunOptions::*, std::vector<std::string> RunOptions::*,
               bool RunOptions::*>
      member;
  VerbBits verbs;           // that can honour it; the others refuse it
  VerbBits session;         // those of them for which it fixes the session, not the one request
  const char* placeholder;  // of the value; empty for a switch
  const char* help;         // a phrase
  ValueKind kind = ValueKind::kText;
  const char* more = "";  // for the man page, whole sentences

  bool is_switch() const { return std::holds_alternative<bool RunOptions::*>(member); }
};

std::span<const FlagRow> flag_rows();

// "none, allowlist, outbound, open" behind the phrase where the value is one of a list.
std::string whole_help(const char* help, ValueKind kind);

// A hint for a word that is none of the list: the nearest of it, else `otherwise`.
std::string nearest_value(const std::string& word, ValueKind kind, const char* otherwise);

// The names of these verbs, separated by ", ".
std::string verbs_text(VerbBits verbs);

// Each flag of one use that was given, with its values (none for a switch), paths made absolute.
using SessionFlags = std::map<std::string, std::vector<std::string>>;
enum class FlagUse : unsigned char {
  kSession,  // fixes a session when its server starts
  kVerb,     // is the verb's own
};
Result<SessionFlags> given_flags(const RunOptions& options, const Verb& verb, FlagUse use);
inline Result<SessionFlags> session_flags(const RunOptions& options, const Verb& verb) {
  return given_flags(options, verb, FlagUse::kSession);
}

// The value of --workspace that means a directory of the session's own.
inline constexpr std::string_view kOwnWorkspace = "own";

}  // namespace sbx
