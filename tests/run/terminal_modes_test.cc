// SPDX-License-Identifier: Apache-2.0
// Tests of run/terminal_modes: what puts a terminal back as it was.
#include "run/terminal_modes.h"

#include <gtest/gtest.h>

#include <string>

namespace sbx {
namespace {

std::string undo(std::string_view bytes) {
  TerminalModes modes;
  for (const char byte : bytes) modes.append({&byte, 1});
  return modes.undo();
}

TEST(TerminalModes, SaysNothingWhereNothingHasChanged) {
  EXPECT_EQ(undo("plain \x1b[2Jtext\x1b[10;3H\x1b]0;title\x07\x1b[K\n"), "");
  EXPECT_EQ(undo("\x1b[31mred\x1b[0m\x1b[1m\x1b[m"), "");
  EXPECT_EQ(undo("\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l"), "");
}

TEST(TerminalModes, UndoesWhatWasLeftOnAndTheScreenLast) {
  EXPECT_EQ(undo("\x1b[31mred"), "\x1b[0m");
  EXPECT_EQ(undo("\x1b[?1049h\x1b[?1;25l\x1b[?1000;1006h\x1b[?2004h\x1b="),
            "\x1b>\x1b[?25h\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?1049l");
  EXPECT_EQ(undo("\x1b[?2027;2031h"), "\x1b[?2027l\x1b[?2031l");
  EXPECT_EQ(undo("\x1b[?7l"), "\x1b[?7h");
  EXPECT_EQ(undo("\x1b(0qqq"), "\x0f\x1b(B");
  EXPECT_EQ(undo("\x1b[4 q"), "\x1b[0 q");
  EXPECT_EQ(undo("\x1b[2;10r"),
            "\x1b"
            "7\x1b[r\x1b"
            "8");
}

TEST(TerminalModes, UndoesWhatIsNoPrivateMode) {
  EXPECT_EQ(undo("\x1b[4h"), "\x1b[4l");
  EXPECT_EQ(undo("\x1b[4h\x1b[4l\x1b[20h"), "\x1b[20l");
  EXPECT_EQ(undo("\x1b[>1u\x1b[>5u"), "\x1b[<2u");
  EXPECT_EQ(undo("\x1b[=1;1u"), "\x1b[=0u");
  EXPECT_EQ(undo("\x1b[>4;2m"), "\x1b[>4;0m");
  EXPECT_EQ(undo("\x1b[?6;5h"), "\x1b[?5l\x1b[?6l\x1b[999H");
}

TEST(TerminalModes, SetsColoursBackThatAnOscHasSet) {
  EXPECT_EQ(undo("\x1b]10;red\a\x1b]4;1;green\x1b\\"), "\x1b]104\a\x1b]110\a");
  EXPECT_EQ(undo("\x1b]11;blue\a\x1b]12;red\a"), "\x1b]111\a\x1b]112\a");
  EXPECT_EQ(undo("\x1b]11;?\a\x1b]4;1;?\a\x1b]8;;http://x\a"), "");
  EXPECT_EQ(undo("\x1b[?12h"), "\x1b[?12l");
}

TEST(TerminalModes, EndsWhatIsUnfinished) {
  for (const char* const open : {"\x1bPq", "\x1b]0;x", "\x1b_Gx", "\x1b^x\x07", "\x1b[3", "\x1b"}) {
    EXPECT_EQ(undo(open), "\x18\x1b\\") << open;
  }
  for (const char* const ended :
       {"\x1bPq\x1b\\", "\x1b]0;x\x07", "\x1b]0;x\x1b\\", "\x1b_Gx\x1b\\ y"}) {
    EXPECT_EQ(undo(ended), "") << ended;
  }
  EXPECT_EQ(undo("\x1bPq[?25l\x1b\\"), "");
}

TEST(TerminalModes, AResetOfTheTerminalIsOne) {
  EXPECT_EQ(undo("\x1b[?1049h\x1b[31m\x1b"
                 "c"),
            "");
  EXPECT_EQ(undo("\x1b[?25l\x1b[!p"), "");
}

TEST(TerminalModes, DoesAgainWhatAProgramWillNotDrawAnew) {
  TerminalModes modes;
  modes.append("\x1b[31m\x1b[?1049h\x1b[?25l\x1b=");
  EXPECT_EQ(modes.redo(), "\x1b[?1049h\x1b[2J\x1b[?25l\x1b=");
}

TEST(TerminalModes, LongSequencesAreNotKept) {
  EXPECT_EQ(undo("\x1b[?" + std::string(1'000'000, '1') + "h\x1b[?1049h"), "\x1b[?1049l");
}

}  // namespace
}  // namespace sbx
