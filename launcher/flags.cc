// SPDX-License-Identifier: Apache-2.0
// The table into CLI11, and CLI11's complaints into ours.
#include "flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include "base/text.h"

namespace sbx {
namespace {

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
  if (nearest) {
    hint = "did you mean " + std::string(*nearest) + "?";
  } else if (!name.starts_with('-')) {
    hint = "put -- before the program; --help lists the verbs and the flags";
  }
  return Error{ErrorCode::kBadFlag, "unknown argument: '" + argument + "'", name, std::move(hint)};
}

// Whether `given` may be about a flag of this name: "--env", "--env=A=b", "-ctrue".
bool mentions(const std::vector<std::string>& given, std::string_view name) {
  return std::any_of(given.begin(), given.end(),
                     [&](const std::string& word) { return word.starts_with(name); });
}

}  // namespace

std::string_view flag_library_version() { return CLI11_VERSION; }

void Flags::value(const char* name, std::string& to, const char* placeholder,
                  std::string_view help) {
  flags_.push_back({name, &to, placeholder, help});
}
void Flags::values(const char* name, std::vector<std::string>& to, const char* placeholder,
                   std::string_view help) {
  flags_.push_back({name, &to, placeholder, help});
}
void Flags::toggle(const char* name, bool& to, std::string_view help) {
  flags_.push_back({name, &to, "", help});
}
void Flags::word(const char* name, std::string& to, std::string_view help, bool required) {
  flags_.push_back({name, &to, "", help, required});
}

std::optional<Error> Flags::refusal_of(const std::string& argument) const {
  for (const Refused& flag : refused_) {
    const std::string name = flag.name;
    const bool is_it = name.starts_with("--") ? argument == name || argument.starts_with(name + "=")
                                              : argument.starts_with(name);
    if (!is_it) continue;
    return Error{ErrorCode::kBadFlag, std::string(verb_) + " cannot honour " + name, name,
                 "leave it out; it is for " + flag.verbs_of(flag.name)};
  }
  return std::nullopt;
}

Result<ParseOutcome> Flags::parse(const std::vector<std::string>& arguments,
                                  std::vector<std::string>& program) const {
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  const std::vector<std::string> given(arguments.begin(), separator);
  if (separator != arguments.end()) program.assign(separator + 1, arguments.end());
  if (separator != arguments.end() && program_hint_ != nullptr) {
    return Error{ErrorCode::kBadFlag, std::string(verb_) + " runs no command of its own", "--",
                 program_hint_};
  }
  for (const std::string& flag : given) {
    // CLI11 would take the next argument for the value.
    if (flag.starts_with("--") && flag.find('=') == flag.size() - 1) {
      return Error{ErrorCode::kBadFlag, "bad value for " + flag.substr(0, flag.size() - 1) + ": ''",
                   flag.substr(0, flag.size() - 1), "write a value behind the '='"};
    }
  }
  const bool needs_word =
      std::any_of(flags_.begin(), flags_.end(), [](const Flag& flag) { return flag.required; });
  if (given.empty() && !needs_word) return ParseOutcome{};
  // CLI11 compares each flag that it gets with all before it, half a launch's work for the whole
  // table: it gets those that are given. Help and complaints need them all.
  std::vector<Flag> mentioned;
  for (const Flag& flag : flags_) {
    if (flag.name[0] != '-' || mentions(given, flag.name)) mentioned.push_back(flag);
  }
  Result<ParseOutcome> parsed = parse_with(mentioned, given);
  return parsed.ok() && !parsed.value().help ? parsed : parse_with(flags_, given);
}

Result<ParseOutcome> Flags::parse_with(const std::vector<Flag>& known,
                                       const std::vector<std::string>& given) const {
  CLI::App app{std::string(description_), std::string(verb_)};
  if (footer_ != nullptr) app.footer(std::function<std::string()>(footer_));  // for help only
  for (const Flag& flag : known) {
    std::visit(
        [&](auto* to) {
          using To = std::remove_pointer_t<decltype(to)>;
          if constexpr (std::is_same_v<To, bool>) {
            app.add_flag(flag.name, *to, std::string(flag.help))->disable_flag_override();
          } else {
            CLI::Option* const option = app.add_option(flag.name, *to, std::string(flag.help));
            option->allow_extra_args(false)->required(flag.required);
            if (*flag.placeholder != '\0') option->type_name(flag.placeholder);
          }
        },
        flag.to);
  }
  std::vector<std::string> words(given.rbegin(), given.rend());  // CLI11 takes them from the back
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    return ParseOutcome{app.help()};
  } catch (const CLI::ExtrasError& error) {
    const std::vector<std::string> extras = app.remaining();
    const std::string first = extras.empty() ? error.what() : extras.front();
    std::optional<Error> refusal = refusal_of(first);
    return refusal ? *std::move(refusal) : unknown_argument(app, first);
  } catch (const CLI::ParseError& error) {
    // CLI11's messages open with the flag: "--timeout: 1 required TEXT missing".
    const std::string what = error.what();
    const std::size_t colon = what.find(':');
    const bool names_flag = what.starts_with('-') && colon != std::string::npos;
    return Error{ErrorCode::kBadFlag, what, names_flag ? what.substr(0, colon) : "",
                 "--help lists the flags"};
  }
  // An empty value is nearly always a variable that was not set; it must not read as "no limit".
  for (const CLI::Option* option : app.get_options()) {
    if (option->check_lname("description")) continue;
    for (const std::string& value : option->results()) {
      if (!value.empty()) continue;
      const std::string name = option->get_name();
      return Error{ErrorCode::kBadFlag, "bad value for " + name + ": ''", name,
                   "give it a value, or leave it out"};
    }
  }
  return ParseOutcome{};
}

}  // namespace sbx
