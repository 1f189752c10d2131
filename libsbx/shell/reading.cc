// SPDX-License-Identifier: Apache-2.0
// Reading: the two ways in, a shell's text and a program with its arguments. Values only.
#include "shell/reading.h"

#include <utility>

#include "shell/walker.h"

namespace sbx::shell {

namespace {

// What is assigned behind a place may count there: in loops, functions and traps. No turn knows
// less than the one before.
template <typename Read>
Reading read_in_turns(Read read) {
  static constexpr int kTurns = 4;
  History history;
  for (int turn = 1;; ++turn) {
    Reading reading;
    Walker walker(reading, turn == 1 ? nullptr : &history);
    read(walker, reading);
    if (!walker.wants_history() || turn == kTurns) return reading;
    History made = walker.take_history();
    if (made == history) return reading;
    history = std::move(made);
  }
}

}  // namespace

Reading read_shell(std::string_view text, const std::map<std::string, std::string>& environment) {
  std::string own;  // of a text that has marks
  if (has_mark(text.substr(0, kMaxText))) {
    own = without_marks(text);
    text = own;
  }
  return read_in_turns([&](Walker& walker, Reading&) {
    walker.assume(environment);
    walker.read_text(text);
  });
}

Reading read_argv(const std::vector<std::string>& argv,
                  const std::map<std::string, std::string>& environment) {
  static constexpr std::size_t kMaxBytes = 8u << 20;
  bool is_whole = true;
  std::vector<Field> words;
  std::size_t at = 0;
  for (const std::string& argument : argv) {
    if (at + argument.size() > kMaxBytes) {
      is_whole = false;
      break;
    }
    Field word;
    word.text = has_mark(argument) ? without_marks(argument) : argument;
    word.span = {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + argument.size())};
    at += argument.size() + 1;
    words.push_back(std::move(word));
  }
  return read_in_turns([&](Walker& walker, Reading& reading) {
    walker.assume(environment);
    reading.complete = is_whole;
    if (!is_whole) reading.unknown.push_back({{}, "the arguments are too long to be read"});
    walker.read_words(words);
  });
}

}  // namespace sbx::shell
