// SPDX-License-Identifier: Apache-2.0
// Operation: what ${x%y} and the like make of a constant value, where that is plain. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sbx::shell {

// `word` is what follows the operation, expanded; `slash`: where in it the pattern of a replacement
// ends, npos where it has none. nullopt: not known without a shell.
std::optional<std::string> apply_operation(std::string_view operation, std::string_view value,
                                           std::string_view word, std::size_t slash);

}  // namespace sbx::shell
