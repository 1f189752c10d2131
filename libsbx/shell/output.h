// SPDX-License-Identifier: Apache-2.0
// Output: what a command prints, where its text tells: echo, printf, cat of a constant input; and,
// as marks, mktemp, date, ls, find and their like. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shell/field.h"

namespace sbx::shell {

inline constexpr std::size_t kMaxOutput = 65536;  // more is not known

// What a command's output depends on beside its words, with marks.
struct OutputContext {
  std::string tmp;        // $TMPDIR
  std::string directory;  // the working directory
};

// `input` is what the command would read on its standard input. nullopt: not known.
std::optional<std::string> constant_output(const std::vector<Field>& words,
                                           const std::optional<std::string>& input,
                                           const OutputContext& context);

}  // namespace sbx::shell
