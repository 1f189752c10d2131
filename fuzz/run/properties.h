// SPDX-License-Identifier: Apache-2.0
// What holds for any bytes that a command prints to stderr: for the fuzz target, and for the test
// that replays its corpus.
#pragma once

#include <string_view>

namespace sbx {

// The refusals that they tell of are of what is hidden or read-only, each once.
bool printed_refusals_hold(std::string_view bytes);

}  // namespace sbx
