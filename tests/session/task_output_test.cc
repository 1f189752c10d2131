// SPDX-License-Identifier: Apache-2.0
// What a task keeps: offsets that never repeat nor skip silently, bounds, valid text.
#include "session/task_output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/utf8.h"

namespace sbx {
namespace {

constexpr OutputChannel kOut = OutputChannel::kOut;
constexpr OutputChannel kErr = OutputChannel::kErr;

TEST(TaskOutput, GivesEachReaderWhatIsNewAndNothingTwice) {
  TaskOutput output{TaskOutputLimits{}};
  output.append(kOut, "one\n");
  output.append(kErr, "two\n");
  const TaskOutput::Text first = output.read(0);
  EXPECT_EQ(first.out, "one\n");
  EXPECT_EQ(first.err, "two\n");
  EXPECT_EQ(first.next, 8U);
  output.append(kOut, "three\n");
  const TaskOutput::Text second = output.read(first.next);
  EXPECT_EQ(second.out, "three\n");
  EXPECT_EQ(second.err, "");
  EXPECT_EQ(second.dropped, 0U);
  EXPECT_EQ(output.read(second.next).out, "");
  EXPECT_EQ(output.read(0).out, "one\nthree\n");
}

TEST(TaskOutput, CountsExactlyWhatItDropped) {
  TaskOutput output{TaskOutputLimits{100, std::nullopt}};
  output.append(kErr, "kept although it is old\n");
  for (int i = 0; i < 1000; ++i) output.append(kOut, "0123456789");
  const TaskOutput::Text text = output.read(0);
  EXPECT_EQ(text.out.size(), 100U);
  EXPECT_EQ(text.err, "kept although it is old\n");
  EXPECT_EQ(text.dropped, 9900U);
  EXPECT_EQ(text.next, 10024U);
  EXPECT_EQ(output.read(text.next - 5).dropped, 0U);
  EXPECT_EQ(output.read(text.next - 5).out, "56789");
}

// At most so many lines a task.
TEST(TaskOutput, KeepsTheLastLinesWhereThereIsALineLimit) {
  TaskOutput output{TaskOutputLimits{std::size_t{1} << 20, 3}};
  for (int i = 0; i < 10; ++i) {
    output.append(i % 2 == 0 ? kOut : kErr, std::to_string(i) + "\n");
  }
  const TaskOutput::Text text = output.read(0);
  EXPECT_EQ(text.out, "8\n");
  EXPECT_EQ(text.err, "7\n9\n");
  EXPECT_EQ(text.dropped, 14U);
}

// As in a capture: an end without a newline is a line too.
TEST(TaskOutput, CountsALineThatHasNotEnded) {
  TaskOutput output{TaskOutputLimits{std::size_t{1} << 20, 3}};
  output.append(kOut, "1\n2\n3\n");
  EXPECT_EQ(output.read(0).dropped, 0U);
  output.append(kOut, "par");
  EXPECT_EQ(output.read(0).out, "2\n3\npar");
  EXPECT_EQ(output.read(0).dropped, 2U);
  output.append(kOut, "tial\n");
  EXPECT_EQ(output.read(0).out, "2\n3\npartial\n");
  output.append(kErr, "e");
  EXPECT_EQ(output.read(0).out, "3\npartial\n");
  output.append(kErr, std::string(40'000, 'e'));  // several pieces
  output.append(kErr, "\n1\n2\n3");
  EXPECT_EQ(output.read(0).out, "");
  EXPECT_EQ(output.read(0).err, "1\n2\n3");
}

TEST(TaskOutput, RepairsTextAndNeverCutsACharacter) {
  TaskOutput output{TaskOutputLimits{8, std::nullopt}};
  output.append(kOut, "\xE2\x82");
  EXPECT_EQ(output.end(), 0U);  // waits for the rest
  output.append(kOut, "\xAC\xFF");
  EXPECT_EQ(output.read(0).out, "€\uFFFD");
  output.append(kOut, "€€€");
  EXPECT_EQ(output.read(0).out, "€€");
  EXPECT_EQ(output.read(output.end() - 2).out, "");  // within a character
  EXPECT_EQ(output.read(output.end() - 2).dropped, 2U);
  output.append(kErr, "\xF0\x9F");
  output.finish();
  EXPECT_EQ(output.read(0).err, "\uFFFD");
}

// Any reader that goes on at `next` gets every byte that it is not told to be dropped, in order;
// and pieces give the same as whole reads.
TEST(TaskOutput, PiecesAndReadsAgreeUnderRandomWrites) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    TaskOutput output{TaskOutputLimits{3000, 40}};
    std::string all[2];
    std::string by_piece[2];
    std::uint64_t told = 0;
    std::uint64_t lost = 0;
    std::uint64_t since = 0;
    for (int i = 0; i < 300; ++i) {
      const OutputChannel channel = random() % 3 == 0 ? kErr : kOut;
      std::string text(random() % 400, 'x');
      for (char& c : text) c = "ab\n"[random() % 3];
      all[static_cast<std::size_t>(channel)] += text;
      output.append(channel, text);
      ASSERT_LE(output.kept_bytes(), 6000U);
      if (random() % 4 != 0) continue;
      const std::uint64_t begin = since;
      const TaskOutput::Text whole = output.read(since);
      std::string pieces[2];
      std::uint64_t dropped = 0;
      for (;;) {
        const TaskOutput::Piece piece = output.next_piece(since);
        dropped += piece.dropped;
        since = piece.offset + piece.text.size();
        if (piece.text.empty()) break;
        pieces[static_cast<std::size_t>(piece.channel)] += piece.text;
      }
      ASSERT_EQ(pieces[0], whole.out);
      ASSERT_EQ(pieces[1], whole.err);
      ASSERT_EQ(since, whole.next);
      ASSERT_EQ(dropped, whole.dropped);
      ASSERT_EQ(since - begin, dropped + pieces[0].size() + pieces[1].size());
      told += pieces[0].size() + pieces[1].size();
      lost += dropped;
      for (int c = 0; c < 2; ++c) {
        ASSERT_TRUE(all[c].ends_with(whole.out) || c == 1);
        ASSERT_TRUE(all[c].ends_with(whole.err) || c == 0);
      }
    }
    EXPECT_EQ(told + lost, since);
    EXPECT_LE(since, all[0].size() + all[1].size());
  }
}

TEST(TaskOutput, BoundsTheCostOfManySmallPieces) {
  TaskOutput output{TaskOutputLimits{}};
  for (int i = 0; i < 200'000; ++i) output.append(i % 2 == 0 ? kOut : kErr, "\n");
  EXPECT_LE(output.kept_bytes(), std::size_t{1} << 16);
  EXPECT_EQ(output.read(0).dropped + output.kept_bytes(), output.end());
}

TEST(TaskOutput, CanBeMadeToKeepLess) {
  TaskOutput output{TaskOutputLimits{}};
  output.append(kOut, std::string(100'000, 'a'));
  output.lower_limit(1000);
  EXPECT_EQ(output.kept_bytes(), 1000U);
  output.append(kOut, std::string(5000, 'b'));
  EXPECT_EQ(output.read(0).out, std::string(1000, 'b'));
}

}  // namespace
}  // namespace sbx
