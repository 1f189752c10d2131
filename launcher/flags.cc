// SPDX-License-Identifier: Apache-2.0
// The tables into CLI11, and CLI11's complaints into ours.
#include "flags.h"

// CLI11 names std::cout only in functions that are not called here. <iostream> itself would make
// eight streams at every start, and bring 12 KB of them into the program.
#define _GLIBCXX_IOSTREAM 1  // NOLINT(bugprone-reserved-identifier)
#include <ostream>
namespace std {
extern ostream cout;  // NOLINT(cert-dcl58-cpp)
extern ostream cerr;  // NOLINT(cert-dcl58-cpp)
}  // namespace std

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "flag_table.h"
#include "run/redaction.h"

namespace sbx {
namespace {

std::optional<std::string_view> nearest_verb(std::string_view name) {
  std::vector<std::string_view> verbs;
  for (const Verb& verb : kVerbs) {
    if (verb.summary != nullptr) verbs.emplace_back(verb.name);
  }
  return name.starts_with('-') ? std::nullopt : nearest_name(name, verbs);
}

// An argument that no flag takes: a misspelt flag, or a program without `--` before it.
Error unknown_argument(const CLI::App& app, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto nearest = name.starts_with('-') ? nearest_name(name, known) : std::nullopt;
  std::string hint = "--help lists the flags";
  const std::optional<std::string_view> verb = nearest_verb(name);
  if (verb) {
    hint = "did you mean sbx-run " + std::string(*verb) + "? A program stands behind --";
  } else if (nearest) {
    hint = "did you mean " + std::string(*nearest) + "?";
  } else if (!name.starts_with('-')) {
    hint = "put -- before the program; --help lists the verbs and the flags";
  }
  return Error{ErrorCode::kBadFlag, "unknown argument: '" + argument + "'", name, std::move(hint)};
}

// A flag of other verbs.
std::optional<Error> refusal_of(const Verb& verb, const std::string& argument) {
  VerbBits verbs = 0;
  std::string name;
  for (const FlagRow& flag : flag_rows()) {
    const std::string known = flag.name;
    const bool is_it = known.starts_with("--")
                           ? argument == known || argument.starts_with(known + "=")
                           : argument.starts_with(known);
    if (!is_it) continue;
    name = known;
    verbs |= flag.verbs;
  }
  if (verbs == 0) return std::nullopt;
  return Error{ErrorCode::kBadFlag, verb_title(verb) + " cannot honour " + name, name,
               "leave it out; it is for " + verbs_text(verbs)};
}

CLI::Option* add(CLI::App& app, const char* name, std::string& to, const std::string& help) {
  return app.add_option(name, to, help)->allow_extra_args(false);
}
CLI::Option* add(CLI::App& app, const char* name, std::vector<std::string>& to,
                 const std::string& help) {
  return app.add_option(name, to, help)->allow_extra_args(false);
}
CLI::Option* add(CLI::App& app, const char* name, bool& to, const std::string& help) {
  return app.add_flag(name, to, help)->disable_flag_override();
}

std::string description_of(const Verb& verb) {
  std::string text = verb.summary == nullptr ? "" : verb.summary;
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// CLI11's messages, where a person would ask what they mean.
Error complaint_of(const std::string& flag, const std::string& what) {
  const auto row = std::find_if(flag_rows().begin(), flag_rows().end(),
                                [&](const FlagRow& known) { return flag == known.name; });
  if (row != flag_rows().end() && what.find(" missing") != std::string::npos) {
    return Error{ErrorCode::kBadFlag, flag + " is given without its value", flag,
                 "write " + flag + " " + row->placeholder};
  }
  if (row != flag_rows().end() && what.find("At Most 1") != std::string::npos) {
    return Error{ErrorCode::kBadFlag, flag + " is given more than once", flag,
                 "it takes one value: leave the others out"};
  }
  constexpr std::string_view kOverride = " was given a disallowed flag override";
  if (what.ends_with(kOverride)) {
    const std::string name = "--" + what.substr(0, what.size() - kOverride.size());
    return Error{ErrorCode::kBadFlag, name + " takes no value", name, "write " + name + " alone"};
  }
  return Error{ErrorCode::kBadFlag, what, flag, "--help lists the flags"};
}

// "WORD is required".
Error missing_word(const Verb& verb, const std::string& what) {
  const std::string name = what.substr(0, what.find(' '));
  for (const VerbWord& word : verb.words) {
    if (word.name == nullptr || name != word.name) continue;
    const std::string names = value_names(word.kind);
    return Error{ErrorCode::kBadFlag, what, name,
                 names.empty() ? std::string("such as: ") + verb.example : "one of " + names};
  }
  return complaint_of("", what);
}

// An empty value is nearly always a variable that was not set; it must not read as "no limit": but
// what is only said or written may be nothing. A
// flag in the place of a command is the next one: CLI11 takes whatever comes.
Status check_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->check_lname("description") || option->check_lname("text")) continue;
    for (const std::string& value : option->results()) {
      const std::string name = option->get_name();
      const bool is_flag =
          name == "-c" &&
          std::any_of(flag_rows().begin(), flag_rows().end(), [&](const FlagRow& row) {
            return value.substr(0, value.find('=')) == row.name;
          });
      if (is_flag) return complaint_of(name, " missing");
      if (!value.empty()) continue;
      return Error{ErrorCode::kBadFlag, "bad value for " + name + ": ''", name,
                   "give it a value, or leave it out"};
    }
  }
  return {};
}

Result<ParseOutcome> parse_with(const Verb& verb, const std::vector<const FlagRow*>& known,
                                const std::vector<std::string>& given, RunOptions& options) {
  CLI::App app{description_of(verb), verb_title(verb)};
  app.footer([&verb] {
    return (&verb == kVerbs ? verbs_help() + "\n" : "") + "Example:\n  " + verb.example;
  });
  for (const VerbWord& word : verb.words) {
    if (word.name == nullptr) continue;
    add(app, word.name, options.*word.to, whole_help(word.help, word.kind))
        ->required(word.is_required)
        ->type_name("");
  }
  if (verb.more_words.name != nullptr) {
    app.add_option(verb.more_words.name, options.arguments, verb.more_words.help)->type_name("");
  }
  for (const FlagRow* flag : known) {
    const std::string help = whole_help(flag->help, flag->kind);
    CLI::Option* const option = std::visit(
        [&](auto member) { return add(app, flag->name, options.*member, help); }, flag->member);
    if (*flag->placeholder != '\0') option->type_name(flag->placeholder);
  }
  std::vector<std::string> words(given.rbegin(), given.rend());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    return ParseOutcome{app.help()};
  } catch (const CLI::ParseError& error) {
    // Also where a word is missing: it may be what a misspelt flag was to bring.
    if (const std::vector<std::string> extras = app.remaining(); !extras.empty()) {
      SBX_CHECK_OK(check_values(app));  // what is left over may be of a flag that was swallowed
      std::optional<Error> refusal = refusal_of(verb, extras.front());
      return refusal ? *std::move(refusal) : unknown_argument(app, extras.front());
    }
    // CLI11's messages open with the flag: "--timeout: 1 required TEXT missing".
    const std::string what = error.what();
    const std::size_t colon = what.find(':');
    const bool names_flag = what.starts_with('-') && colon != std::string::npos;
    if (!names_flag) return missing_word(verb, what);
    return complaint_of(what.substr(0, colon), what);
  }
  SBX_CHECK_OK(check_values(app));
  return ParseOutcome{};
}

}  // namespace

std::string verb_title(const Verb& verb) {
  return &verb == kVerbs ? "sbx-run" : "sbx-run " + std::string(verb.name);
}

std::string verbs_help() {
  std::string text =
      "sbx-run [OPTIONS] -- PROGRAM [ARG...]\nsbx-run [OPTIONS] -c COMMAND\n\nVerbs:\n";
  for (const Verb& verb : kVerbs) {
    if (verb.summary == nullptr) continue;
    text += "  " + std::string(verb.name) +
            std::string(10 - std::string_view(verb.name).size(), ' ') + verb.summary + "\n";
  }
  return text;
}

Result<std::string> verb_help_text(const std::string& name) {
  for (const Verb& verb : kVerbs) {
    if (verb.name != name) continue;
    RunOptions options;
    Invocation invocation;
    invocation.verb = &verb;
    invocation.arguments = {"--help"};
    SBX_TRY(const ParseOutcome outcome, parse_flags(invocation, options));
    return outcome.help.value_or("");
  }
  const auto nearest = nearest_verb(name);
  return Error{ErrorCode::kBadFlag, "there is no verb '" + name + "'", name,
               nearest ? "did you mean " + std::string(*nearest) + "?"
                       : "one of " + value_names(ValueKind::kVerb)};
}

std::string_view flag_library_version() { return CLI11_VERSION; }

Result<ParseOutcome> parse_flags(const Invocation& invocation, RunOptions& options) {
  const Verb& verb = *invocation.verb;
  const std::vector<std::string>& arguments = invocation.arguments;
  // Where any number of words may stand, "--" only ends the flags.
  const auto separator = verb.more_words.name != nullptr
                             ? arguments.end()
                             : std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> given(arguments.begin(), separator);
  if (separator != arguments.end()) options.program.assign(separator + 1, arguments.end());
  if (separator != arguments.end() && verb.no_program != nullptr) {
    return Error{ErrorCode::kBadFlag, verb_title(verb) + " runs no command of its own", "--",
                 verb.no_program};
  }
  for (const std::string& flag : given) {
    // CLI11 would take the next argument for the value.
    if (flag.starts_with("--") && flag.find('=') == flag.size() - 1) {
      return Error{ErrorCode::kBadFlag, "bad value for " + flag.substr(0, flag.size() - 1) + ": ''",
                   flag.substr(0, flag.size() - 1), "write a value behind the '='"};
    }
  }
  if (given.empty() && !verb.words[0].is_required) return ParseOutcome{};
  // CLI11 compares each flag that it gets with all before it, half a launch's work for the whole
  // table: it gets those that may be given, by "--env", "--env=A=b" or "-ctrue". Help and
  // complaints need them all.
  std::vector<const FlagRow*> all;
  std::vector<const FlagRow*> mentioned;
  for (const FlagRow& flag : flag_rows()) {
    if ((flag.verbs & verb_bit(verb)) == 0) continue;
    all.push_back(&flag);
    const bool is_mentioned = std::any_of(given.begin(), given.end(), [&](const std::string& word) {
      return word.starts_with(flag.name);
    });
    if (is_mentioned) mentioned.push_back(&flag);
  }
  Result<ParseOutcome> parsed = parse_with(verb, mentioned, given, options);
  if (parsed.ok() && !parsed.value().help) return parsed;
  return without_secrets(parse_with(verb, all, given, options));
}

}  // namespace sbx
