// SPDX-License-Identifier: Apache-2.0
// Options and operands, with the permutation that GNU programs allow.
#include "shell/arguments.h"

#include <algorithm>

#include "shell/marks.h"

namespace sbx::shell {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

bool is_listed(std::string_view name, std::string_view list) {
  if (name.empty()) return false;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool contains_ignoring_case(std::string_view text, std::string_view lower_case_part) {
  return std::search(text.begin(), text.end(), lower_case_part.begin(), lower_case_part.end(),
                     [](char a, char b) { return lower(a) == b; }) != text.end();
}

std::size_t git_subcommand(const Command& command) {
  for (std::size_t at = 1; at < command.words.size(); ++at) {
    const Word& word = command.words[at];
    const std::string& text = word.text;
    // What may be options, or nothing.
    const bool is_maybe = !word.shape.empty() && may_be_empty(word.shape);
    if (text.empty() && (is_maybe || (word.splits && !word.known))) continue;
    if (!text.starts_with('-')) return at;
    if (is_listed(text,
                  "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix "
                  "--config-env --attr-source")) {
      ++at;
    }
  }
  return 0;
}

Arguments::Arguments(const Command& command, std::size_t first, std::string_view short_values,
                     std::initializer_list<std::string_view> long_values) {
  for (std::size_t at = first; at < command.words.size(); ++at) {
    const Word& word = command.words[at];
    const std::string_view text = word.text;
    if (has_dashes_ || text.size() < 2 || text.front() != '-') {
      operands_.push_back(&word);
    } else if (text == "--") {
      has_dashes_ = true;
      before_dashes_ = operands_.size();
    } else if (text.starts_with("--")) {
      add_long(command, at, long_values);
    } else {
      add_short(command, at, short_values);
    }
  }
  if (!has_dashes_) before_dashes_ = operands_.size();
}

void Arguments::add_long(const Command& command, std::size_t& at,
                         std::initializer_list<std::string_view> long_values) {
  const Word& word = command.words[at];
  const std::string_view text = std::string_view(word.text).substr(2);
  const std::size_t equals = text.find('=');
  Option option{'\0', text.substr(0, equals), "", &word};
  if (equals != std::string_view::npos) {
    option.value = text.substr(equals + 1);
  } else if (std::find(long_values.begin(), long_values.end(), option.name) != long_values.end() &&
             at + 1 < command.words.size()) {
    option.value = command.words[++at].text;
  }
  options_.push_back(option);
}

void Arguments::add_short(const Command& command, std::size_t& at, std::string_view short_values) {
  const Word& word = command.words[at];
  const std::string_view text = word.text;
  for (std::size_t i = 1; i < text.size(); ++i) {
    Option option{text[i], "", "", &word};
    const bool takes_value = short_values.find(text[i]) != std::string_view::npos;
    if (takes_value && i + 1 < text.size()) {
      option.value = text.substr(i + 1);
    } else if (takes_value && at + 1 < command.words.size()) {
      option.value = command.words[++at].text;
    }
    options_.push_back(option);
    if (takes_value) return;
  }
}

const Word* Arguments::find(char letter) const {
  for (const Option& option : options_) {
    if (option.letter == letter) return option.word;
  }
  return nullptr;
}

const Word* Arguments::find(std::string_view long_name) const {
  constexpr std::size_t kShortest = 3;
  for (const Option& option : options_) {
    if (option.letter != '\0') continue;
    const bool shortened = option.name.size() >= kShortest && long_name.starts_with(option.name);
    if (option.name == long_name || shortened) return option.word;
  }
  return nullptr;
}

const Word* Arguments::find(char letter, std::string_view long_name) const {
  const Word* word = find(letter);
  return word != nullptr ? word : find(long_name);
}

std::string_view Arguments::value(char letter, std::string_view long_name) const {
  for (const Option& option : options_) {
    if (option.letter == '\0' ? option.name == long_name : option.letter == letter) {
      return option.value;
    }
  }
  return "";
}

}  // namespace sbx::shell
