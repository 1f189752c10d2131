// SPDX-License-Identifier: Apache-2.0
// Outcome → what a person at a terminal reads: how it ended, and one sentence for each thing that
// was refused, is missing or should be known, with the flag that would mend it.
#pragma once

#include <string>

#include "model/outcome.h"

namespace sbx {

// Below the output of `run`: each line begins with kAccountMark.
std::string account_text(const Outcome& outcome, bool colours);

// Below that of `exec`: nothing after an ordinary end, one line after any other, whose code is the
// status ("sbx-run: timed_out: …"), and what was refused to a command that failed. What
// outcome.error says is left to whoever prints errors.
std::string exec_account(const Outcome& outcome);

// How it ended, as one sentence: "timed out after 2.0 s; --timeout TIME gives it more".
std::string end_sentence(const Outcome& outcome);

// "connect to pypi.org:443; allow it with --allow-host pypi.org:443"
std::string refusal_sentence(const Denial& denial);

}  // namespace sbx
