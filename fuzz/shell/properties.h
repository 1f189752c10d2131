// SPDX-License-Identifier: Apache-2.0
// What holds for the reading of any text; the fuzz target and the replay of its corpus share it.
#pragma once

#include <string_view>

namespace sbx {

// Spans lie in the text, what is not known is listed, and an incomplete reading says why.
bool reading_holds(std::string_view text);

}  // namespace sbx
