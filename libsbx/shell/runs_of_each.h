// SPDX-License-Identifier: Apache-2.0
// What xargs, find, parallel, fd and entr run for each of what they read, find or are given. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shell/runs.h"

namespace sbx::shell {

// Whether the program is one of these; what it runs is then in `runs`.
bool add_runs_of_each(const std::string& name, const std::vector<Field>& words,
                      const std::optional<std::string>& input, Runs& runs);

}  // namespace sbx::shell
