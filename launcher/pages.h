// SPDX-License-Identifier: Apache-2.0
// The tables of verbs and flags → what is installed beside sbx-run.
#pragma once

#include <string>

namespace sbx {

std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// SYNOPSIS, the verbs and the options in mdoc(7), for docs/man/sbx-run.1.in.
std::string man_synopsis();
std::string man_verbs();
std::string man_options();

}  // namespace sbx
