// SPDX-License-Identifier: Apache-2.0
// Removals: what clients of services, and tools that take verbs, are told to take away, as rows of
// a table. Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "guard/rule.h"
#include "shell/arguments.h"

namespace sbx::guard {

// What a client of a service is told to take down: words in the order in which they begin, lists
// separated by '/'; "..." is any words; none: the
// option alone says it.
struct Removal {
  std::string_view programs;
  std::string_view verbs;
  std::string_view with = {};  // only with one of these options; empty: always
};

// The words by which the command matches a row; nullopt: it matches none, or only shows what it
// would do.
std::optional<Hit> removes_by_client(const Case& c, std::span<const Removal> table);

// Whether -X, or the long option, says DELETE.
bool requests_deletion(const shell::Arguments& arguments, std::string_view long_name);

}  // namespace sbx::guard
