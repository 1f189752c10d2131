// SPDX-License-Identifier: Apache-2.0
// Rule: one destructive habit as data: its id, whose commands it looks at, why a person should
// decide, and examples that a test holds it to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "guard/places.h"
#include "shell/arguments.h"
#include "shell/reading.h"

namespace sbx::guard {

// The commands that a rule may need beside its own, so that none looks through all of them.
class CommandIndex {
 public:
  explicit CommandIndex(const shell::Reading& reading);
  // Of one pipeline, in the order of the reading.
  std::span<const std::uint32_t> pipeline(std::uint32_t id) const;
  // Those of the command's pipeline that stand before it, as far as it is worth looking.
  std::span<const std::uint32_t> before(const shell::Reading& reading,
                                        const shell::Command& command) const;
  std::span<const std::uint32_t> finds() const { return finds_; }
  std::span<const std::uint32_t> fetchers() const { return fetchers_; }  // curl and the like

 private:
  std::vector<std::uint32_t> by_pipeline_;
  std::vector<std::uint32_t> begins_;  // of each pipeline in by_pipeline_, and the end
  std::vector<std::uint32_t> finds_;
  std::vector<std::uint32_t> fetchers_;
};

// The base name, as the text has it; empty where there is no word.
inline std::string_view program_of(const shell::Command& command) {
  return command.words.empty() ? std::string_view() : shell::base_name(command.words.front().text);
}
// Empty where it is not known, too.
inline std::string_view known_program_of(const shell::Command& command) {
  return command.words.empty() || !command.words.front().known ? std::string_view()
                                                               : program_of(command);
}

// One command of a reading, with what a rule may look at.
struct Case {
  const shell::Reading& reading;
  const shell::Command& command;
  std::string_view text;
  std::string_view program;  // the base name; empty where it is not known
  const Places& places;
  const Directories& directories;
  const CommandIndex& index;
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

// All of them; ids begin with "destructive.".
std::span<const std::span<const Rule>> destructive_rules();

// The tables that destructive_rules() is made of, one a file.
std::span<const Rule> data_rules();
std::span<const Rule> file_rules();
std::span<const Rule> git_rules();
std::span<const Rule> shell_rules();
std::span<const Rule> system_rules();

}  // namespace sbx::guard
