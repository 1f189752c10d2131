// SPDX-License-Identifier: Apache-2.0
// The tables of verbs and flags → what is installed beside sbx-run.
#pragma once

#include <string>

#include "verb_table.h"

namespace sbx {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// SYNOPSIS, the verbs, the options and the pages of the verbs in mdoc(7), for
// docs/man/sbx-run.1.in.
std::string man_synopsis();
std::string man_verbs();
std::string man_options();
std::string man_see_also();

// sbx-run-VERB(1), whole.
std::string man_page(const Verb& verb);

}  // namespace sbx
