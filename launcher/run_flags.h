// SPDX-License-Identifier: Apache-2.0
// The flags that the verbs share, one row each: what reads them, what refuses them, what passes
// them on to a session's server and what --help shows goes by this table.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "flags.h"
#include "options.h"

namespace sbx {

// The verbs that take them; bits of a set.
enum RunVerb : unsigned {
  kRunVerb = 1,
  kExecVerb = 2,
  kStartVerb = 4,
  kCallVerb = 8,
  kToolVerb = 16,
  kServeVerb = 32,
  kMcpVerb = 64,
  kCheckVerb = 128,
  kExplainVerb = 256,
};

// What a path in a flag's value is made absolute by.
enum class FlagPath { kNone, kExisting, kProfile, kWorkspace, kRoot, kNew };

struct RunFlag {
  const char* name;
  std::variant<std::string RunOptions::*, std::vector<std::string> RunOptions::*,
               bool RunOptions::*>
      member;
  unsigned verbs;           // that can honour it; the others refuse it
  unsigned session;         // those of them for which it fixes the session, not the one request
  const char* placeholder;  // of the value; empty for a switch
  const char* help;
  FlagPath path = FlagPath::kNone;
};

std::span<const RunFlag> run_flags();

// Adds those that this verb takes, and says of the others who does. `no_program` is what a verb
// that takes no command says instead of it; null: it takes one.
void add_run_options(Flags& flags, RunOptions& options, RunVerb verb,
                     const char* no_program = nullptr);

// What fixes a session when its server starts: each such flag that was given, with its values (none
// for a switch), paths made absolute.
using SessionFlags = std::map<std::string, std::vector<std::string>>;
Result<SessionFlags> session_flags(const RunOptions& options, RunVerb verb);

// The value of --workspace that means a directory of the session's own.
inline constexpr std::string_view kOwnWorkspace = "own";

}  // namespace sbx
