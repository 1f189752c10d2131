// SPDX-License-Identifier: Apache-2.0
// Finds: where a `find` starts and what it picks, for its own removal and for the commands that it
// runs or feeds. Pure.
#pragma once

#include <optional>
#include <vector>

#include "guard/rule.h"

namespace sbx::guard {

struct FindStart {
  std::vector<const shell::Word*> starts;  // empty: the working directory
  bool follows = false;  // -L, -H: a start that is a symlink is what that leads to
  bool has_filter = false;
  const shell::Word* removal = nullptr;  // -delete
  bool is_removal_named = false;  // a name that is no pattern for everything stands before it
  bool is_elsewhere = false;      // the starts stand in a file
};

FindStart read_find(const shell::Command& find);

// The find whose files this command is given: its own -exec, or the first stage before xargs.
const shell::Command* feeding_find(const Case& c);

// "{}" alone, where find puts in what it has found. A longer word is a path like any other.
bool is_placeholder(const Case& c, const shell::Word& word);

// How what is found is removed.
enum class Taking : std::uint8_t {
  kFiles,   // none with what is below it
  kPicked,  // with what is below it, but a filter picks
  kAll,
};

// What find may hand over that is not the command's own.
std::optional<Hit> outside_find(const Case& c, const shell::Command& find, const FindStart& read,
                                Taking taking);

// Where find starts, as far as that is known.
std::vector<std::string> find_places(const Case& c, const FindStart& read);

}  // namespace sbx::guard
