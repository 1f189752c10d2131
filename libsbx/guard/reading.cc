// SPDX-License-Identifier: Apache-2.0
// Reading: the two ways in, a shell's text and a program with its arguments. Values only.
#include "guard/reading.h"

#include <utility>

#include "guard/walker.h"

namespace sbx {

Reading read_shell(std::string_view text) {
  Reading reading;
  Walker(reading).read_text(text);
  return reading;
}

Reading read_argv(const std::vector<std::string>& argv) {
  static constexpr std::size_t kMaxBytes = 8u << 20;
  Reading reading;
  std::vector<Field> words;
  std::size_t at = 0;
  for (const std::string& argument : argv) {
    if (at + argument.size() > kMaxBytes) {
      reading.complete = false;
      reading.unknown.push_back({{}, "the arguments are too long to be read"});
      break;
    }
    Field word;
    word.text = argument;
    word.span = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + argument.size())};
    at += argument.size() + 1;
    words.push_back(std::move(word));
  }
  Walker(reading).read_words(words);
  return reading;
}

}  // namespace sbx
