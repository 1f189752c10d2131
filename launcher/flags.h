// SPDX-License-Identifier: Apache-2.0
// Arguments → the members that the tables of flags and verbs name, by CLI11. The one place that
// knows CLI11.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "options.h"
#include "verbs.h"

namespace sbx {

struct ParseOutcome {
  std::optional<std::string> help;  // the text, where it was asked for
};

std::string_view flag_library_version();

// Parses what stands behind the verb up to `--`; the rest is the program. Errors: kBadFlag, also
// for a flag that is another verb's.
Result<ParseOutcome> parse_flags(const Invocation& invocation, RunOptions& options);

// As it is called, such as "sbx-run exec".
std::string verb_title(const Verb& verb);

// What its --help prints. Errors: kBadFlag for a verb that there is not.
Result<std::string> verb_help_text(const std::string& name);

}  // namespace sbx
