// SPDX-License-Identifier: Apache-2.0
// The shell reader: commands, words, what runs what, and what the text does not tell (A9, A10,
// B10). The table is commands.txt.
#include "shell/reading.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "../../fuzz/shell/properties.h"
#include "support/corpus.h"

namespace {

using sbx::shell::read_shell;
using sbx::shell::Reading;

// One line a command: "via/via> word word", behind ~ where it is supposed; ␣ inside words, <?>
// where a part is unknown.
std::string show(const Reading& reading) {
  std::string out;
  for (const sbx::shell::Command& command : reading.commands) {
    if (command.words.empty()) continue;
    out += command.is_supposed ? "  ~ " : "  ";
    for (const std::string& via : command.via)
      out += via + (&via == &command.via.back() ? "> " : "/");
    for (const sbx::shell::Word& word : command.words) {
      if (&word != &command.words.front()) out += ' ';
      for (const char c : word.text) out += c == ' ' ? "␣" : c == '\n' ? "⏎" : std::string(1, c);
      if (!word.known) out += "<?>";
    }
    if (command.has_more_words) out += " …";
    out += '\n';
  }
  if (!reading.unknown.empty()) out += "  ? " + reading.unknown.front().what + '\n';
  if (!reading.complete) out += "  incomplete\n";
  return out;
}

std::string with_newlines(std::string text) {
  static const std::string kSign = "⏎";
  for (std::size_t at = text.find(kSign); at != std::string::npos; at = text.find(kSign)) {
    text.replace(at, kSign.size(), "\n");
  }
  return text;
}

TEST(Reading, OfTheTableIsAsItSays) {
  std::ifstream file(SBX_SOURCE_DIR "/tests/guard/commands.txt");
  std::string line;
  std::string command;
  std::string expected;
  int count = 0;
  const auto check = [&] {
    if (command.empty()) return;
    EXPECT_EQ(show(read_shell(with_newlines(command))), expected) << command;
    ++count;
    command.clear();
    expected.clear();
  };
  while (std::getline(file, line)) {
    if (line.starts_with("  ")) {
      expected += line + '\n';
    } else if (!line.starts_with("##")) {
      check();
      command = line;
    }
  }
  check();
  EXPECT_GE(count, 150);
}

TEST(Reading, OfNothingIsCompleteAndEmpty) {
  const Reading reading = read_shell("");
  EXPECT_TRUE(reading.complete);
  EXPECT_TRUE(reading.commands.empty());
}

TEST(Reading, KeepsTheSpansOfWords) {
  const Reading reading = read_shell("a; bash -c 'sudo id'");
  ASSERT_EQ(reading.commands.size(), 4U);
  EXPECT_EQ(reading.commands[1].words[2].span, (sbx::Span{11, 20}));
  EXPECT_EQ(reading.commands[2].words[0].span, (sbx::Span{11, 20}));
}

TEST(Reading, TellsStagesOfPipelines) {
  const Reading reading = read_shell("curl x | sudo bash & ");
  ASSERT_EQ(reading.commands.size(), 3U);
  EXPECT_EQ(reading.commands[2].via, std::vector<std::string>{"sudo"});
  EXPECT_EQ(reading.commands[2].stage, 1U);
  EXPECT_EQ(reading.commands[2].stages, 2U);
  EXPECT_TRUE(reading.commands[2].in_background);
}

TEST(Reading, TellsRedirections) {
  const Reading reading = read_shell("a >x 2>>y <z &>w 2>&1 >&v <<<h {n}>u");
  ASSERT_EQ(reading.commands.size(), 1U);
  const auto& all = reading.commands[0].redirections;
  ASSERT_EQ(all.size(), 8U);
  using Kind = sbx::shell::RedirectionKind;
  const Kind kinds[] = {Kind::kTruncate,  Kind::kAppend,   Kind::kRead, Kind::kTruncate,
                        Kind::kDuplicate, Kind::kTruncate, Kind::kHere, Kind::kTruncate};
  const int fds[] = {1, 2, 0, -1, 2, -1, 0, 10};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].kind, kinds[i]) << i;
    EXPECT_EQ(all[i].fd, fds[i]) << i;
  }
}

TEST(Reading, OfArgumentsNeedsNoShell) {
  const Reading reading = sbx::shell::read_argv({"env", "A=$b", "sudo", "x y"});
  ASSERT_EQ(reading.commands.size(), 3U);
  EXPECT_EQ(reading.commands[1].words[1].text, "x y");
  EXPECT_EQ(reading.commands[2].words[0].span, (sbx::Span{14, 17}));
}

TEST(Reading, OfHugeTextsEnds) {
  const auto holds = [](const char* unit, std::size_t size) {
    std::string text;
    while (text.size() < size) text += unit;
    return sbx::reading_holds(text);
  };
  for (const char* unit : {"(", "$(", "((\n", "((", "\\", "if ", "${x:-"}) {
    EXPECT_TRUE(holds(unit, 1U << 20)) << unit;
  }
  // What is read whole takes seconds without optimization.
  for (const char* unit : {"`", "{", "<<a ", "<<a\n", "a[", "sh -c ", "$X ", "a|", "X=$X$X;"}) {
    EXPECT_TRUE(holds(unit, 1U << 17)) << unit;
  }
  EXPECT_FALSE(read_shell(std::string((1U << 20) + 1, 'a')).complete);
}

TEST(Reading, HoldsForTheFuzzCorpus) {
  const auto files = sbx::corpus_files("shell/corpus");
  EXPECT_GE(files.size(), 8U);
  for (const sbx::CorpusFile& file : files)
    EXPECT_TRUE(sbx::reading_holds(file.bytes)) << file.path;
}

}  // namespace
