// SPDX-License-Identifier: Apache-2.0
// A verb's flags as a table → the strings of its caller, by CLI11. The one place that knows CLI11.
//
//   Flags flags("sbx-run kill", "End a task: SIGTERM, then SIGKILL to everything left");
//   flags.value("--grace", options.grace, "TIME", "between SIGTERM and SIGKILL (default: 2s)");
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
  Flags(std::string_view verb, std::string_view description)
      : verb_(verb), description_(description) {}

  // Whatever is named here must live until parse() is back.
  // `placeholder` names the value in the help.
  void value(const char* name, std::string& to, const char* placeholder,
             std::string_view help);  // once
  void values(const char* name, std::vector<std::string>& to, const char* placeholder,
              std::string_view help);                                                  // repeatable
  void toggle(const char* name, bool& to, std::string_view help);                      // no value
  void word(const char* name, std::string& to, std::string_view help, bool required);  // no dash
  // Flags of other verbs: `verbs_of` says of which. A command behind `--`: `hint` says what
  // instead.
  void refuse(const char* name, std::string (*verbs_of)(const char* name)) {
    refused_.push_back({name, verbs_of});
  }
  void refuse_program(const char* hint) { program_hint_ = hint; }
  void footer(std::string (*text)()) { footer_ = text; }  // below the help

  // Parses `arguments` (without the program's name and the verb) up to `--`; the rest is the
  // program. Errors: kBadFlag.
  Result<ParseOutcome> parse(const std::vector<std::string>& arguments,
                             std::vector<std::string>& program) const;

 private:
  struct Flag {
    const char* name;
    std::variant<std::string*, std::vector<std::string>*, bool*> to;
    const char* placeholder;
    std::string_view help;
    bool required = false;
  };
  struct Refused {
    const char* name;
    std::string (*verbs_of)(const char* name);
  };

  std::optional<Error> refusal_of(const std::string& argument) const;
  Result<ParseOutcome> parse_with(const std::vector<Flag>& known,
                                  const std::vector<std::string>& given) const;

  std::string_view verb_;
  std::string_view description_;
  std::string (*footer_)() = nullptr;
  const char* program_hint_ = nullptr;
  std::vector<Flag> flags_;
  std::vector<Refused> refused_;
};

}  // namespace sbx
