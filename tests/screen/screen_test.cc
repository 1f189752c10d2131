// SPDX-License-Identifier: Apache-2.0
// What a program writes, and what is seen of it.
#include "screen/screen.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "screen/frames.h"

namespace sbx {
namespace {

std::string first_row(const Screen& screen) {
  const std::string text = screen.text();
  return text.substr(0, text.find('\n'));
}

TEST(Screen, ShowsWhatIsWrittenWhereItIsWritten) {
  Screen screen({10, 3});
  screen.write("a\r\n\x1b[31mb\x1b[3;9Hc");
  EXPECT_EQ(screen.text(), "a\nb\n        c\n");
  EXPECT_EQ(screen.cursor_row(), 2);
}

TEST(Screen, WideAndCombinedCharactersStayWhole) {
  Screen screen({10, 1});
  screen.write(
      "\xe6\xbc\xa2"
      "e\xcc\x81!");
  EXPECT_EQ(first_row(screen),
            "\xe6\xbc\xa2"
            "e\xcc\x81!");
}

// libvterm wrote behind its cells.
TEST(Screen, AWideCharacterInASingleColumnIsNoEnd) {
  Screen screen({1, 2});
  screen.write("\xe6\xbc\xa2\xcc\x81x\xe6\xbc\xa2");
  EXPECT_EQ(screen.size(), (TerminalSize{1, 2}));
  EXPECT_EQ(screen.text(), "x\n\xe6\xbc\xa2\n");
  screen.resize({4, 1});
  screen.resize({1, 3});
  screen.write("\xcc\x81\xe6\xbc\xa2");
  EXPECT_EQ(screen.size(), (TerminalSize{1, 3}));
}

TEST(Screen, LinesOfDoubleSizeAreLeftOut) {
  Screen screen({10, 2});
  screen.write("a\x1b#6b\x1b\r#3c\x1b# 8d");
  EXPECT_EQ(first_row(screen), "cd");
}

TEST(Screen, ARepaintDrawsTheSame) {
  Screen screen({20, 4});
  screen.write(
      "\x1b[1;31mred\x1b[0m plain\r\n\x1b[48;5;17mblue\x1b[0m\r\n\x1b[38;2;1;2;3mrgb\x1b[2;3H");
  Screen other({20, 4});
  other.write(screen.repaint());
  EXPECT_EQ(other.text(), screen.text());
  EXPECT_EQ(other.repaint(), screen.repaint());
  EXPECT_EQ(other.cursor_column(), 2);
}

TEST(Screen, ItsTextHoldsNoControlBytes) {
  Screen screen({30, 2});
  screen.write(
      "a\x1b]0;title\x07"
      "b\x1bPq\x1b\\c\x9b"
      "31md\x7f\x01");
  for (const char c : screen.text()) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= ' ');
}

TEST(Screen, ACharacterIsRepeatedAsOftenAsTheScreenIsWide) {
  Screen screen({10, 1});
  screen.write("x\x1b[3b.");
  EXPECT_EQ(first_row(screen), "xxxx.");
  screen.write("\r\x1b[2147483647b\x1b[K");  // behind no character
  EXPECT_EQ(first_row(screen), "");
}

// Bytes that libvterm skips within an escape hid it from us, and behind no character it never ends.
TEST(Screen, NoByteWithinAnEscapeHidesARepetition) {
  for (const std::string_view hidden : {"\x7f[", "\xff[", "\xc3\xbf\x7f[", "[\x7f", "[2\x7f"}) {
    Screen screen({10, 1});
    screen.write("\x1b" + std::string(hidden) + "5b\r\x1b[Ky");
    EXPECT_EQ(first_row(screen), "y") << testing::PrintToString(hidden);
  }
}

TEST(Screen, NoCharacterSetHidesARepetition) {
  for (const std::string begin : {"\x1b([", "\x1b[\x1b([", "\x1b()*[", "\x1b%\x01["}) {
    Screen screen({10, 1});
    screen.write(begin + "9b");  // behind no character
    EXPECT_EQ(first_row(screen), "") << begin;
    screen.write("a" + begin);
    screen.write("2b");
    EXPECT_EQ(first_row(screen), "aaa") << begin;
  }
  Screen swallowed({10, 1});
  swallowed.write("\x1b\x1b#\xff[9b");
  EXPECT_EQ(first_row(swallowed), "9b");
  Screen screen({10, 1});
  screen.write("\x1b(0qq\x1b(Bq");
  EXPECT_EQ(first_row(screen), "\u2500\u2500q");
}

// libvterm keeps 16 of them, and writes what follows behind its array.
TEST(Screen, NumbersWithoutEndAreCut) {
  for (const char separator : {';', ':'}) {
    Screen screen({10, 1});
    screen.write("a\x1b[" + std::string(100, separator) + "mb\x1b[" + std::string(15, separator) +
                 "mc");
    EXPECT_EQ(first_row(screen), "abc");
  }
  Screen screen({10, 1});
  screen.write("\x1b[0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;1mx\x1b[0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;0;1my");
  EXPECT_NE(screen.repaint().find("\x1b[0;1mx\x1b[0my"), std::string::npos) << screen.repaint();
}

// libvterm would move a negative number of rows.
TEST(Screen, MarginsOfALargerScreenAreGone) {
  Screen screen({10, 40});
  screen.write("\x1b[37;39r\x1b[?69h\x1b[8;9sab");
  screen.resize({4, 2});
  screen.write("\x1b[2;1H1\r\n2\r\n3\x1b[5L\x1b[5P\x1b[5S\x1b[5T\x1bM\x1bMx");
  const std::string text = screen.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  Screen kept({10, 4});
  kept.write("one\r\ntwo");
  kept.resize({10, 3});
  kept.write("!");
  EXPECT_NE(kept.text().find("two!"), std::string::npos) << kept.text();
}

TEST(Screen, ComesBackFromTheAlternateScreen) {
  Screen screen({10, 2});
  screen.write("shell\x1b[?1049h\x1b[2J\x1b[Heditor");
  EXPECT_EQ(first_row(screen), "editor");
  screen.write("\x1b[?1049l");
  EXPECT_EQ(first_row(screen), "shell");
}

TEST(Screen, AnswersToQuestionsAreTakenOnce) {
  Screen screen({10, 2});
  screen.write("\x1b[6n");
  EXPECT_EQ(screen.take_replies(), "\x1b[1;1R");
  EXPECT_EQ(screen.take_replies(), "");
  for (int i = 0; i < 10'000; ++i) screen.write("\x1b[6n");
  const std::size_t size = screen.take_replies().size();
  EXPECT_GT(size, 4000U);
  EXPECT_LE(size, 4096U);
}

TEST(Screen, AnySizeThatIsAskedForIsBounded) {
  Screen screen({10, 2});
  screen.resize({100000, 0});
  EXPECT_EQ(screen.size(), (TerminalSize{TerminalSize::kMostColumns, 1}));
  screen.resize({0, 100000});
  EXPECT_EQ(screen.size(), (TerminalSize{1, TerminalSize::kMostRows}));
}

TEST(Frames, ComeOutAsTheyWentInHoweverTheyAreCut) {
  std::string bytes;
  append_frame(bytes, 'D', "text");
  append_frame(bytes, 'S', "");
  FrameReader reader(100);
  std::string kinds;
  for (const char byte : bytes) {
    reader.append({&byte, 1});
    while (const auto frame = reader.next()) kinds += frame->kind + frame->text;
  }
  EXPECT_EQ(kinds, "DtextS");
}

TEST(Frames, OneThatIsTooLongBreaksTheReader) {
  std::string bytes;
  append_frame(bytes, 'D', std::string(101, 'x'));
  FrameReader reader(100);
  reader.append(bytes);
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.is_broken());
}

}  // namespace
}  // namespace sbx
