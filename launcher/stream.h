// SPDX-License-Identifier: Apache-2.0
// A run whose output goes on while it runs: as JSON lines (--stream), or as text for a person, with
// an account of it at the end. A reader that is slow holds the command back: what waits to be read
// is bounded.
#pragma once

#include "output/terminal_text.h"
#include "run/run.h"

namespace sbx {

// How a person is shown a run: what of its two streams goes to ours, and the account's colours.
struct StreamForm {
  TerminalText::Kind out = TerminalText::Kind::kBytes;  // kBytes: exactly as it is
  TerminalText::Kind err = TerminalText::Kind::kBytes;
  bool is_one_place = false;  // stdout and stderr are the same terminal, pipe or file
  bool colours = false;
};

// Runs `input` to its end and writes all that it puts out to stdout and, as text, to stderr: with
// `text` everything, the account included; else everything but the result. As write_answer(): 0, -1
// where stdout could not be written (the command is cancelled then), or the signal that came before
// all was. `run` keeps the run alive, as CommandRun asks.
int run_streaming(RunInput input, const StreamForm* text, std::unique_ptr<CommandRun>& run);

}  // namespace sbx
