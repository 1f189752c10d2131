// SPDX-License-Identifier: Apache-2.0
// Runs: a command's words → the commands and shell texts that it would run in turn (env, xargs,
// find -exec, sh -c, eval …). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shell/field.h"

namespace sbx::shell {

enum class RunKind : std::uint8_t {
  kWords,   // `words`, as a program or builtin with its arguments
  kText,    // `text`, by a new shell with the arguments `words`
  kHere,    // `text`, by this shell: eval
  kLater,   // `text`, by this shell at another time: trap
  kInput,   // a new shell that reads its standard input
  kFile,    // a new shell that reads `text`, a file's name
  kSource,  // this shell reads `text`, a file's name
};

struct Run {
  RunKind kind = RunKind::kWords;
  std::string via;
  std::vector<Field> words;
  Field text;
  bool has_more_words = false;
  // The words with marks for all that the run puts in, where that is bounded.
  std::vector<Field> bounded;
  // xargs: words from the input follow, or stand where `placeholder` does.
  bool takes_input = false;
  bool splits_lines = false;  // at newlines only
  std::string placeholder;
};

struct Runs {
  std::vector<Run> runs;
  std::vector<Span> unknown;  // words that may be options, or more
};

// `input` is what the command would read on its standard input, where that is known.
Runs find_runs(const std::vector<Field>& words, const std::optional<std::string>& input);

}  // namespace sbx::shell
