// SPDX-License-Identifier: Apache-2.0
// The JSON lines of --stream: what happens while a command runs, the result last. Each is one line
// without its newline. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/outcome.h"
#include "output/stream.h"

namespace sbx {

// `offset`: how many bytes of text (as UTF-8) of this stream came in earlier events.
std::string output_event(OutputChannel channel, std::string_view text, std::uint64_t offset);
std::string denial_event(const Denial& denial);
// The answer itself, with "event" as its first key.
std::string result_event(const Outcome& outcome);

}  // namespace sbx
