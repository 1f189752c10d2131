// SPDX-License-Identifier: Apache-2.0
// Sed scripts: the text of one → the texts that it hands to a shell. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sbx::shell {

// GNU's "e COMMAND" and "s///e", with holes (shell/marks.h) where sed puts in what it has read.
std::vector<std::string> texts_run_by_sed(std::string_view script);

}  // namespace sbx::shell
