// SPDX-License-Identifier: Apache-2.0
// Tables of builtins and variables.
#include "shell/unshown.h"

#include <algorithm>

#include "shell/arguments.h"

namespace sbx::shell {
namespace {

constexpr std::string_view kMeanings = "BASH_CMDS BASH_ALIASES BASH_ENV PROMPT_COMMAND";
constexpr std::string_view kPrompts = "PS0 PS1 PS2 PS4";
// These take nothing but numbers.
constexpr std::string_view kIntegers =
    "RANDOM SRANDOM SECONDS LINENO OPTIND BASHPID EPOCHSECONDS HISTCMD";

// By this option another file or text is run.
constexpr struct {
  std::string_view builtin;
  char letter;
} kOptions[] = {{"hash", 'p'},    {"jobs", 'x'},     {"enable", 'f'},
                {"compgen", 'C'}, {"complete", 'C'}, {"bind", 'x'}};

// Their arguments are names of variables, and may have subscripts.
constexpr std::string_view kDeclare = "declare typeset local export readonly";
constexpr std::string_view kSet = "read mapfile readarray getopts wait";  // and printf -v
constexpr std::string_view kRead = "test [ let unset";

// Whether it may be another name than the one that it looks like, with a subscript.
bool may_be_another(const Field& word, std::string_view name) {
  const bool is_pattern = word.gives_file_names() && name.find_first_of("*?") != name.npos;
  return may_be_text(name) || is_pattern;
}

std::string_view name_in(std::string_view word) {
  return word.substr(0, word.find_first_of("[+="));
}

}  // namespace

bool holds_substitution(std::string_view text) {
  if (text.find("$(") != text.npos || text.find('`') != text.npos) return true;
  // ${!x} and ${a[x]} hold one where x does.
  for (std::size_t at = text.find("${"); at != text.npos; at = text.find("${", at + 2)) {
    const std::string_view inside = text.substr(at + 2, text.find('}', at) - at - 2);
    const std::size_t index = inside.find('[') + 1;  // npos: 0
    if (inside.starts_with('!') ||
        (index > 0 && inside.find_first_not_of("0123456789@*", index) != inside.find(']', index)))
      return true;
  }
  return false;
}

bool may_hold_substitution(std::string_view text) {
  return may_be_text(text) || holds_substitution(text);
}

bool holds_subscript(std::string_view text) {
  const std::size_t at = text.find('[');
  return at != text.npos && holds_substitution(text.substr(at));
}

bool assigns_unshown(std::string_view name, std::string_view value) {
  if (is_listed(name, kMeanings)) return !value.empty();
  if (is_listed(name, kIntegers))
    return value.find_first_not_of(std::string_view("0123456789\x10")) != value.npos;  // kName
  return is_listed(name, kPrompts) && may_hold_substitution(value);
}

bool is_element(std::string_view name) {
  const std::size_t at = name.find('[') + 1;  // npos: 0
  return at > 0 && name.find_first_not_of("0123456789@*", at) < name.rfind(']');
}

bool runs_unshown(const std::vector<Field>& words) {
  const auto program = program_name(words[0]);
  if (!program) return false;
  const auto any = [&](auto holds) { return std::any_of(words.begin() + 1, words.end(), holds); };
  const bool is_alias = *program == "alias";
  const auto row = std::find_if(std::begin(kOptions), std::end(kOptions),
                                [&](const auto& option) { return option.builtin == *program; });
  if (is_alias || row != std::end(kOptions)) {
    if (std::any_of(words.begin() + 1, words.end(), [](const Field& w) { return !w.is_known(); }))
      return true;
    return any([&](const Field& field) {
      const std::string_view word = field.text;
      if (is_alias) return word.find('=') != word.npos;
      if (row->builtin.starts_with("comp") && holds_substitution(word)) return true;  // -W
      return word.starts_with('-') && word.find(row->letter) != word.npos;
    });
  }
  if (is_listed(*program, kDeclare)) {
    return any([&](const Field& field) {
      const std::string_view word = field.text;
      const std::size_t equals = std::min(word.find('='), word.size());
      const std::string_view value = word.substr(std::min(equals + 1, word.size()));
      const std::string_view name = word.substr(0, equals);
      return assigns_unshown(name_in(word), value) || is_element(name) ||
             (may_be_another(field, name) && *program != "export" && *program != "readonly") ||
             (equals < word.size() && is_listed(name_in(value), kMeanings));  // -n: a reference
    });
  }
  const bool is_printf = *program == "printf";
  const bool sets = is_printf || is_listed(*program, kSet);
  if (!sets && !is_listed(*program, kRead)) return false;
  if (is_printf && (words.size() < 2 || !words[1].text.starts_with("-v"))) return false;
  const bool is_test = *program == "test" || *program == "[";
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string_view word = words[i].text;
    const std::string_view before = words[i - 1].text;
    if (holds_subscript(word)) return true;
    if (is_test && i > 1 && may_be_text(before) && may_be_text(word)) return true;  // "$x" "$y"
    bool is_name = before == "-v";
    if (is_printf) {
      is_name = is_name || i == 1;
    } else if (*program == "wait") {
      is_name = before.starts_with('-') && before.ends_with('p');
    } else if (*program == "getopts") {
      is_name = i == 2;
    } else if (!is_listed(*program, "test [ let")) {  // but for the values of options
      is_name = !before.starts_with('-') ||
                std::string_view("dinNptuOsCc").find(before.back()) == before.npos;
    }
    if (!is_name) continue;
    if (word.starts_with("-v") || word.starts_with("-a")) word.remove_prefix(2);
    const std::string_view name = name_in(word);
    if (may_be_another(words[i], word) || is_element(word) ||
        (sets &&
         (is_listed(name, kMeanings) || is_listed(name, kPrompts) || is_listed(name, kIntegers)))) {
      return true;
    }
  }
  return false;
}

}  // namespace sbx::shell
