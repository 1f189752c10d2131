// SPDX-License-Identifier: Apache-2.0
// --stream: a run whose output goes to stdout as JSON lines while it runs. A reader that is slow
// holds the command back: what waits to be read is bounded.
#pragma once

#include "run/run.h"

namespace sbx {

// Runs `input` to its end and writes everything but the result to `fd`. True where all of it could
// be written; where not, the command is cancelled. `run` keeps the run alive, as CommandRun asks.
bool run_streaming(RunInput input, int fd, std::unique_ptr<CommandRun>& run);

}  // namespace sbx
