// SPDX-License-Identifier: Apache-2.0
// A verb's flags as a table → the strings of its caller, by CLI11. The one place that knows CLI11.
//
//   Flags flags("sbx-run kill", "End a task: SIGTERM, then SIGKILL to everything left");
//   flags.value("--grace", options.grace, "between SIGTERM and SIGKILL (default: 2s)");
//   Result<ParseOutcome> parsed = flags.parse(arguments, program);
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace sbx {

struct ParseOutcome {
  std::optional<std::string> help;  // the text, where it was asked for
};

std::string_view flag_library_version();

class Flags {
 public:
  // `verb` and `description` open the help text.
  Flags(std::string verb, std::string description)
      : verb_(std::move(verb)), description_(std::move(description)) {}

  // Whatever is named here must live until parse() is back.
  void value(std::string name, std::string& to, std::string help);                // once
  void values(std::string name, std::vector<std::string>& to, std::string help);  // repeatable
  void toggle(std::string name, bool& to, std::string help);                      // no value
  void word(std::string name, std::string& to, std::string help, bool required);  // no dash
  void footer(std::string text) { footer_ = std::move(text); }                    // of the help

  // Parses `arguments` (without the program's name and the verb) up to `--`; the rest is the
  // program. Errors: kBadFlag.
  Result<ParseOutcome> parse(const std::vector<std::string>& arguments,
                             std::vector<std::string>& program) const;

 private:
  struct Flag {
    std::string name;
    std::variant<std::string*, std::vector<std::string>*, bool*> to;
    std::string help;
    bool required = false;
  };

  Result<ParseOutcome> parse_with(const std::vector<Flag>& known,
                                  const std::vector<std::string>& given) const;

  std::string verb_;
  std::string description_;
  std::string footer_;
  std::vector<Flag> flags_;
};

}  // namespace sbx
