// SPDX-License-Identifier: Apache-2.0
// What the two verbs share: a result's grants, a person's yes, and a profile's file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "learn/grants.h"

namespace sbx::learn {

// The texts of its denials' grants, each once. Errors: kBadValue, with where it is no result.
Result<std::vector<std::string>> grants_of(const nlohmann::json& result);

// As many spaces as the text's first indented line has.
int indent_of(const std::string& text);

// Nothing, or a regular file that no symlink led to. Errors: kOutputUnwritable.
Status check_new_file(const std::string& path);

// Whole or not at all, with the mode and the owner that it has; of a symlink, where `is_followed`,
// what it leads to. One that comes while this runs is replaced itself. Errors: kOutputUnwritable,
// also for what is there and is no regular file; with ESTALE where it is not `before` (null:
// whatever it is) any more.
Status replace_file(const std::string& path, const std::string& text, bool is_followed = true,
                    const std::string* before = nullptr);

// The directory of a file, from /, behind symlinks on the way to it.
std::string directory_of(const std::string& file);

// A profile of that directory, as it is read from any other: what it extends is named from /. An
// empty directory: it is no file's.
Document from_directory(const std::string& directory, Document profile);

// Whether there is a person at a terminal, wherever standard input leads.
bool is_at_terminal();

// That person's yes. No, where there is none, and once `signal_fd` (-1: none) has a signal.
bool is_agreed(const std::string& question, int signal_fd = -1);

// The same, where nobody has said `yes` before.
bool is_wanted(const std::string& file, bool yes, int signal_fd = -1);

// Why not, for that person.
std::string why_unwritten();

}  // namespace sbx::learn
