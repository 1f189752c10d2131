// SPDX-License-Identifier: Apache-2.0
// Rule: one destructive habit as data: its id, whose commands it looks at, why a person should
// decide, and examples that a test holds it to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "guard/places.h"
#include "guard/reading.h"

namespace sbx {

// One command of a reading, with what a rule may look at.
struct Case {
  const Reading& reading;
  const Command& command;
  std::string_view text;
  std::string_view program;  // the base name; empty where it is not known
  const Places& places;
  const Directories& directories;
};

struct Hit {
  Span span;
  std::string target;
};

struct Rule {
  std::string_view id;
  std::string_view programs;  // separated by spaces; empty: every command, without a program too
  std::optional<Hit> (*match)(const Case&);
  std::string_view reason;
  // One command a line. The workspace is /home/me/project, HOME /home/me; /data is a writable root.
  std::string_view examples;      // must be asked about
  std::string_view not_examples;  // must not
};

// Whether `name` is one of the words of `list`.
bool is_listed(std::string_view name, std::string_view list);

// All of them; ids begin with "destructive.".
std::span<const std::span<const Rule>> destructive_rules();

// The tables that destructive_rules() is made of, one a file.
std::span<const Rule> file_rules();
std::span<const Rule> git_rules();
std::span<const Rule> shell_rules();
std::span<const Rule> system_rules();

}  // namespace sbx
