// SPDX-License-Identifier: Apache-2.0
// What holds for the judgement of any text; the fuzz target and the replay of its corpus share it.
#pragma once

#include <string_view>

namespace sbx {

// Spans of findings and of what is not known lie in the text, and the verdict is that of a finding.
bool judgement_holds(std::string_view text);

}  // namespace sbx
