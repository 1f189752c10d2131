// SPDX-License-Identifier: Apache-2.0
// Listing: what find, fd, grep -l, git ls-files and filters of lines give, as marks. Pure, linear
// in the words.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "shell/field.h"

namespace sbx::shell {

// Lines; nullopt: not known.
using Listing = std::optional<std::string>;

// Where find begins: its operands from `at` on, which then stands at its expression.
std::vector<std::string> find_starts(const std::vector<Field>& words, std::size_t& at);

// What find hands to its -exec, one by one; a hole where that is not known.
std::string given_by_find(const std::vector<Field>& words);

// What fd hands to its -x: `words` end before it.
std::string given_by_fd(const std::vector<Field>& words);

// grep and its kin: the lines of `input` that it passes on, or with -l the names of files.
Listing listed_by_grep(const std::vector<Field>& words, const std::optional<std::string>& input);

// head and tail: some of the lines of `input`.
Listing cut_by_count(const std::vector<Field>& words, const std::optional<std::string>& input);

// git ls-files; `first` is where its own words begin.
Listing listed_by_git(const std::vector<Field>& words, std::size_t first);

}  // namespace sbx::shell
