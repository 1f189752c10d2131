// SPDX-License-Identifier: Apache-2.0
// Options: the rules of getopt_long with a leading +, which all wrappers use.
#include "shell/options.h"

#include <string>

namespace sbx::shell {

std::optional<Options::Option> Options::next() {
  while (at_ < words_.size()) {
    const Field& word = words_[at_];
    const std::string_view text = word.text;
    if (letter_ == 0) {
      const bool may_vanish =
          word.splits && text.size() == 1 && (text[0] == kHole || text[0] == kMaybe);
      if (may_vanish && at_ + 1 < words_.size()) {
        unknown_.push_back(word.span);
        ++at_;
        continue;
      }
      if (text == "--") {
        ++at_;
        return std::nullopt;
      }
      if (text.size() < 2 || text[0] != '-') return std::nullopt;
      if (text[1] == '-') {
        ++at_;
        const std::size_t equals = text.find('=');
        Option option;
        option.word = &word;
        option.name = text.substr(2, equals == std::string_view::npos ? equals : equals - 2);
        if (equals != std::string_view::npos) {
          option.value = text.substr(equals + 1);
          option.value_word = &word;
        } else if (at_ < words_.size() &&
                   long_.find(' ' + std::string(option.name) + ' ') != std::string_view::npos) {
          option.value_word = &words_[at_];
          option.value = words_[at_++].text;
        }
        return option;
      }
      letter_ = 1;
    }
    Option option;
    option.word = &word;
    option.name = text.substr(letter_++, 1);
    const bool is_last = letter_ == text.size();
    if (short_.find(option.name) != std::string_view::npos) {
      if (!is_last) {
        option.value = text.substr(letter_);
        option.value_word = &word;
      } else if (at_ + 1 < words_.size()) {
        option.value_word = &words_[++at_];
        option.value = words_[at_].text;
      }
      letter_ = 0;
      ++at_;
    } else if (is_last) {
      letter_ = 0;
      ++at_;
    }
    return option;
  }
  return std::nullopt;
}

}  // namespace sbx::shell
