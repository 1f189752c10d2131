// SPDX-License-Identifier: Apache-2.0
// What the descriptions of programs that run others are made of. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shell/runs.h"

namespace sbx::shell {

using Fields = std::vector<Field>;

// The words from there on.
Fields tail(const Fields& words, std::size_t from);
// The words as a shell gets them that reads them as one text.
Field joined(const Fields& words, std::size_t from, std::size_t to);
// A run of words, and of a text.
void add_words(Runs& runs, std::string_view via, Fields words, bool has_more = false);
void add_text(Runs& runs, RunKind kind, std::string via, Field text, Fields arguments = {});

// `value`, or a hole where it is so long that the words could grow beyond bounds by it.
std::string fitting(const std::vector<Field>& words, std::string value);

// Those of env that take a value, as for Options.
inline constexpr std::string_view kEnvLetters = "uCS";
inline constexpr std::string_view kEnvNames = " unset chdir split-string ";

// Puts `value` in where `placeholder` stands in the words.
void put_in(std::vector<Field>& words, const std::string& placeholder, std::string_view value);

}  // namespace sbx::shell
