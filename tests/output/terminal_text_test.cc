// SPDX-License-Identifier: Apache-2.0
// Tests of output/terminal_text: what a terminal is sent of what a command wrote.
#include "output/terminal_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../../fuzz/output/properties.h"
#include "corpus.h"

namespace sbx {
namespace {

using Kind = TerminalText::Kind;

std::string shown(std::string_view bytes, Kind kind = Kind::kColours) {
  TerminalText text(kind);
  std::string out = text.append(bytes);
  return out + text.finish();
}

TEST(TerminalText, LetsTextAndColoursThrough) {
  EXPECT_EQ(shown("a\tb\r\n\x1b[31mred\x1b[0m \xc3\xa9 \xf0\x9f\x98\x80\n"),
            "a\tb\r\n\x1b[31mred\x1b[0m \xc3\xa9 \xf0\x9f\x98\x80\n");
  EXPECT_EQ(shown("\x1b[38;2;1;2;3mx"), "\x1b[38;2;1;2;3mx\x1b[0m");
}

TEST(TerminalText, HasNoEscapesWhereNoneAreWanted) {
  EXPECT_EQ(shown("\x1b[31mred\x1b[0m\n", Kind::kText), "red\n");
}

TEST(TerminalText, DropsTitlesStringsAndWhateverAsksOrMoves) {
  EXPECT_EQ(shown("a\x1b]0;title\x07"
                  "b\x1b]2;t\x1b\\c"),
            "abc");
  EXPECT_EQ(shown("a\x1bPdevice\nstring\x1b\\b\x1b_app\x1b\\c\x1b^pm\x1b\\d"), "abcd");
  EXPECT_EQ(shown("a\x1b[2J\x1b[H\x1b[6n\x1b[?1049h\x1b[?25lb\x1b"
                  "c\x1b(0d\x0e\x07"),
            "abd");
  EXPECT_EQ(shown("a\xc2\x9b"
                  "2Jb\xc2\x9dtitle\x07"
                  "c"),
            "abc");
  EXPECT_EQ(shown("a\x1b[>4;1mb\x1b[1\"mc"), "abc");
}

TEST(TerminalText, LeavesAProgramItsScreenButNoStrings) {
  const std::string screen =
      "\x1b[?1049h\x1b[2J\x1b[1;31mx\x1b(0\x0e\x1b=\x1b"
      "7\a\b\xc3\xa9\x18";
  EXPECT_EQ(shown(screen, Kind::kScreen), screen);
  EXPECT_EQ(shown("a\x1b]52;c;eA==\ab\x1bP+q544e\x1b\\c\x1b_app\x1b\\d\xc2\x9dtitle\xc2\x9c"
                  "e",
                  Kind::kScreen),
            "abcde");
  EXPECT_EQ(shown("\xc2\x9b"
                  "2J",
                  Kind::kScreen),
            "\x1b[2J");
}

// Of every short text over what counts.
TEST(TerminalText, NothingInFrontOfAStringLetsItThrough) {
  const std::vector<std::string> parts = {"\x1b", "]",    "P",        "(",  "\n",      "a",
                                          "\a",   "\x18", "\xc2\x9d", "\\", "\xc3\xa9"};
  const std::size_t size = parts.size();
  for (std::size_t number = 0; number < size * size * size * size; ++number) {
    std::string text;
    for (std::size_t left = number, i = 0; i < 4; ++i, left /= size) text += parts[left % size];
    bool is_escape = false;
    const std::string out = shown(text, Kind::kScreen);
    ASSERT_EQ(out.find('\x9d'), std::string::npos) << number;
    for (const char c : out) {
      ASSERT_FALSE(is_escape && (c == ']' || c == 'P')) << number;
      is_escape = c == '\x1b' || (is_escape && c < ' ' && c != '\x18');
    }
  }
}

TEST(TerminalText, ATitleWithoutAnEndEndsWithItsLine) {
  EXPECT_EQ(shown("a\x1b]0;title\nnext\n"), "a\nnext\n");
}

TEST(TerminalText, EndsWhatIsUnfinished) {
  EXPECT_EQ(shown("a\x1b[31"), "a");
  EXPECT_EQ(shown("a\x1bPq"), "a");
  EXPECT_EQ(shown("a\xe2\x82"), "a\xef\xbf\xbd");
  EXPECT_EQ(shown("\x1b[1m\x1b[0m"), "\x1b[1m\x1b[0m");
}

TEST(TerminalText, NeverLetsTheAccountsMarkThrough) {
  for (const Kind kind : {Kind::kText, Kind::kColours, Kind::kBytes}) {
    EXPECT_EQ(shown("\xc2\xb6 sbx-run: exited with 0\n", kind), "? sbx-run: exited with 0\n");
    EXPECT_EQ(shown("\xc2\xc2\xb6", kind).find("\xc2\xb6"), std::string::npos);
  }
  TerminalText text(Kind::kBytes);
  EXPECT_EQ(text.append("a\xc2"), "a");
  EXPECT_EQ(text.append("\xb6"), "?");
  EXPECT_EQ(text.append("\xc2"), "");
  EXPECT_EQ(text.finish(), "\xc2");
}

TEST(TerminalText, KeepsOtherBytesOfWhatIsNoTerminal) {
  const std::string bytes("\x1b[2J\0\xff\xc2\xa9\x9b", 9);
  EXPECT_EQ(shown(bytes, Kind::kBytes), bytes);
}

TEST(TerminalText, KnowsWhetherALineHasBegun) {
  for (const Kind kind : {Kind::kText, Kind::kColours, Kind::kBytes}) {
    TerminalText text(kind);
    EXPECT_TRUE(text.is_fresh_line());
    text.append("a");
    EXPECT_FALSE(text.is_fresh_line());
    text.append("b\n");
    EXPECT_TRUE(text.is_fresh_line());
  }
}

TEST(TerminalText, CorpusHolds) {
  const auto corpus = read_corpus("terminal_text");
  EXPECT_GE(corpus.size(), 11U);
  for (const auto& [name, content] : corpus) EXPECT_TRUE(terminal_text_holds(content)) << name;
}

}  // namespace
}  // namespace sbx
