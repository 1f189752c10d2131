// SPDX-License-Identifier: Apache-2.0
// Removals: verbs told from the values of options, as far as that can be.
#include "guard/removals.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace sbx::guard {
namespace {

// Words behind the program that are no options. One behind an option without '=' may be its value:
// which options take one differs from client to client.
struct Verb {
  const shell::Word* word = nullptr;
  bool may_be_value = false;
};

std::vector<Verb> verbs_of(const shell::Command& command) {
  std::vector<Verb> out;
  bool after_option = false;
  for (std::size_t i = 1; i < command.words.size(); ++i) {
    const std::string& text = command.words[i].text;
    if (text == "--") break;
    if (text.starts_with('-')) {
      after_option = text.find('=') == std::string::npos;
      continue;
    }
    out.push_back({&command.words[i], after_option});
    after_option = false;
  }
  return out;
}

// A word of `list`, or one that begins with a word of it that ends in '*'.
bool is_verb(std::string_view word, std::string_view list) {
  for (const std::string_view one : split(list, ' ')) {
    if (one.ends_with('*') ? word.starts_with(one.substr(0, one.size() - 1)) : word == one)
      return true;
  }
  return false;
}

// Whether the verbs begin with one word of each list, in this order.
bool begins_with(std::span<const Verb> verbs, std::span<const std::string_view> lists) {
  if (lists.empty()) return true;
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    if (is_verb(shell::base_name(verbs[i].word->text), lists.front()) &&
        begins_with(verbs.subspan(i + 1), lists.subspan(1))) {
      return true;
    }
    if (!verbs[i].may_be_value) return false;
  }
  return false;
}

bool has_option(const shell::Command& command, std::string_view list) {
  return std::any_of(command.words.begin() + 1, command.words.end(), [&](const shell::Word& word) {
    const std::string_view name = std::string_view(word.text).substr(0, word.text.find('='));
    return shell::is_listed(name, list);
  });
}

// The same, where one letter may stand among others behind one dash.
bool has_flag(const shell::Command& command, std::string_view list) {
  static constexpr std::size_t kMostLetters = 4;
  if (has_option(command, list)) return true;
  return std::any_of(command.words.begin() + 1, command.words.end(), [&](const shell::Word& word) {
    const std::string_view text = word.text;
    if (text.size() < 3 || text.size() > kMostLetters + 1 || text[0] != '-') return false;
    return std::any_of(text.begin() + 1, text.end(), [&](char letter) {
      return shell::is_listed(std::string{'-', letter}, list);
    });
  });
}

bool matches(const Case& c, const Removal& removal, const std::vector<Verb>& verbs) {
  if (!shell::is_listed(c.program, removal.programs)) return false;
  if (!removal.with.empty() && !has_flag(c.command, removal.with)) return false;
  if (removal.verbs.empty()) return true;
  constexpr std::string_view kAnywhere = ".../";
  if (removal.verbs.starts_with(kAnywhere)) {
    const std::string_view list = removal.verbs.substr(kAnywhere.size());
    return std::any_of(verbs.begin(), verbs.end(),
                       [&](const Verb& verb) { return is_verb(verb.word->text, list); });
  }
  const std::vector<std::string_view> lists = split(removal.verbs, '/');
  return begins_with(verbs, lists);
}

}  // namespace

std::optional<Hit> removes_by_client(const Case& c, std::span<const Removal> table) {
  const bool is_client = std::any_of(table.begin(), table.end(), [&](const Removal& one) {
    return shell::is_listed(c.program, one.programs);
  });
  if (!is_client) return std::nullopt;
  const std::vector<Verb> verbs = verbs_of(c.command);
  // What only shows what it would do.
  if (has_option(c.command, "--dry-run --dryrun --help -h --what-if")) return std::nullopt;
  if (!verbs.empty() && verbs.front().word->text == "help") return std::nullopt;
  const bool hit = std::any_of(table.begin(), table.end(),
                               [&](const Removal& removal) { return matches(c, removal, verbs); });
  if (!hit) return std::nullopt;
  return Hit{c.command.span, verbs.empty() ? "" : verbs.back().word->text};
}

bool requests_deletion(const shell::Arguments& arguments, std::string_view long_name) {
  for (const std::string_view method :
       {arguments.value('X', long_name), arguments.value('\0', long_name)}) {
    if (shell::contains_ignoring_case(method, "delete")) return true;
  }
  return false;
}

}  // namespace sbx::guard
