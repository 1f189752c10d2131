// SPDX-License-Identifier: Apache-2.0
// What is secret in one run, and its removal from everything in an answer besides the output: a
// command line, a path or a message can hold a secret as well.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/outcome.h"
#include "output/stream.h"
#include "policy/environment.h"
#include "policy/policy.h"

namespace sbx {

// Secrets of known formats, the profile's patterns, and the values of variables that the command
// gets although their names say that they are secret. Nothing where the profile does not redact.
// Errors: those of RuleSet::make().
Result<RedactionInput> choose_redaction(const Policy& policy, const Environment& environment);

// Of a shell's text what stands behind an assignment stays.
std::string redact_text(const RedactionInput& redaction, std::string_view text,
                        bool is_shell = false);

// Each of them in its place, told apart.
void redact_texts(const RedactionInput& redaction, const std::vector<std::string*>& texts);

// No longer than anybody reads: what a caller has sent may be megabytes, and stands in it.
Error shortened(Error error);

// Without secrets of known formats, and shortened: for what is found before there is a policy.
Error without_secrets(Error error);

template <typename T>
Result<T> without_secrets(Result<T> result) {
  if (!result.ok()) result.error() = without_secrets(std::move(result.error()));
  return result;
}

// Command, arguments, cwd, description, denials, connections, changes, warnings, error and the
// strings of the result line. `redactions` counts the output only.
void redact_outcome(const RedactionInput& redaction, Outcome& outcome);

}  // namespace sbx
