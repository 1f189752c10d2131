// SPDX-License-Identifier: Apache-2.0
// Tables of builtins and variables.
#include "shell/unshown.h"

#include <algorithm>

#include "shell/arguments.h"

namespace sbx::shell {
namespace {

constexpr std::string_view kMeanings = "BASH_CMDS BASH_ALIASES BASH_ENV PROMPT_COMMAND";
constexpr std::string_view kPrompts = "PS0 PS1 PS2 PS4";

// By this option another file or text is run.
constexpr struct {
  std::string_view builtin;
  char letter;
} kOptions[] = {{"hash", 'p'}, {"enable", 'f'}, {"compgen", 'C'}, {"complete", 'C'}, {"bind", 'x'}};

// Their arguments are names of variables, and may have subscripts.
constexpr std::string_view kDeclare = "declare typeset local export readonly";
constexpr std::string_view kSet = "read mapfile readarray getopts wait";  // and printf -v
constexpr std::string_view kRead = "test [ let unset";

std::string_view name_in(std::string_view word) {
  return word.substr(0, word.find_first_of("[+="));
}

}  // namespace

bool holds_substitution(std::string_view text) {
  return text.find("$(") != text.npos || text.find('`') != text.npos;
}

bool holds_subscript(std::string_view text) {
  const std::size_t at = text.find('[');
  return at != text.npos && holds_substitution(text.substr(at));
}

bool assigns_unshown(std::string_view name, std::string_view value) {
  if (is_listed(name, kMeanings)) return !value.empty();
  return is_listed(name, kPrompts) && holds_substitution(value);
}

bool runs_unshown(const std::vector<Field>& words) {
  const auto program = program_name(words[0]);
  if (!program) return false;
  const auto any = [&](auto holds) {
    return std::any_of(words.begin() + 1, words.end(),
                       [&](const Field& word) { return holds(std::string_view(word.text)); });
  };
  const bool is_alias = *program == "alias";
  const auto row = std::find_if(std::begin(kOptions), std::end(kOptions),
                                [&](const auto& option) { return option.builtin == *program; });
  if (is_alias || row != std::end(kOptions)) {
    if (std::any_of(words.begin() + 1, words.end(), [](const Field& w) { return !w.is_known(); }))
      return true;
    return any([&](std::string_view word) {
      if (is_alias) return word.find('=') != word.npos;
      return word.starts_with('-') && word.find(row->letter) != word.npos;
    });
  }
  if (is_listed(*program, kDeclare)) {
    return any([](std::string_view word) {
      const std::size_t equals = std::min(word.find('='), word.size());
      const std::string_view value = word.substr(std::min(equals + 1, word.size()));
      return assigns_unshown(name_in(word), value) || holds_subscript(word.substr(0, equals)) ||
             (equals < word.size() && is_listed(name_in(value), kMeanings));  // -n: a reference
    });
  }
  if (is_listed(*program, kRead)) return any(holds_subscript);
  const bool is_printf = *program == "printf";
  if (!is_listed(*program, kSet) && !is_printf) return false;
  if (is_printf && (words.size() < 2 || !words[1].text.starts_with("-v"))) return false;
  return any([](std::string_view word) {
    if (word.starts_with("-v") || word.starts_with("-a")) word.remove_prefix(2);
    const std::string_view name = name_in(word);
    return holds_subscript(word) || is_listed(name, kMeanings) || is_listed(name, kPrompts);
  });
}

}  // namespace sbx::shell
