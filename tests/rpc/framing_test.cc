// SPDX-License-Identifier: Apache-2.0
// Lines: whole, cut anywhere, too long, and on their way to a reader that is slow or gone.
#include "rpc/framing.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <vector>

#include "base/owned_fd.h"

namespace sbx {
namespace {

std::vector<std::string> lines_of(LineReader& reader) {
  std::vector<std::string> out;
  while (auto line = reader.next()) out.push_back(line->too_long ? "<too long>" : line->text);
  return out;
}

using Lines = std::vector<std::string>;

TEST(LineReader, GivesTheSameLinesHoweverTheBytesAreCut) {
  const std::string text = "one\ntwo\r\n\n  \nthree\nfo";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    LineReader reader;
    Lines lines;
    for (std::size_t at = 0; at < text.size(); at += size) {
      reader.feed(std::string_view(text).substr(at, size));
      for (std::string& line : lines_of(reader)) lines.push_back(std::move(line));
    }
    EXPECT_EQ(lines, (Lines{"one", "two", "three"})) << size;
    const auto rest = reader.rest();
    ASSERT_TRUE(rest.has_value());
    EXPECT_EQ(rest->text, "fo");
    EXPECT_FALSE(reader.rest().has_value());
  }
}

TEST(LineReader, SaysOnceThatALineIsTooLongAndGoesOnBehindIt) {
  for (std::size_t size = 1; size < 24; ++size) {
    const std::string text = "12345678\n123456789\n1234567890123456789\nok\n";
    LineReader reader(8);
    Lines lines;
    for (std::size_t at = 0; at < text.size(); at += size) {
      reader.feed(std::string_view(text).substr(at, size));
      for (std::string& line : lines_of(reader)) lines.push_back(std::move(line));
    }
    EXPECT_EQ(lines, (Lines{"12345678", "<too long>", "<too long>", "ok"})) << size;
  }
}

TEST(LineReader, KeepsTheHeadOfALineThatIsTooLong) {
  LineReader reader(8);
  reader.feed("ok\n123456789\n");
  EXPECT_EQ(reader.next()->head, "");
  EXPECT_EQ(reader.next()->head, "12345678");
  LineReader longer(10'000);
  longer.feed(std::string(5000, 'a') + std::string(5001, 'b'));
  EXPECT_EQ(longer.next()->head, std::string(4096, 'a'));
}

TEST(LineReader, SaysThatALineIsTooLongBeforeItEnds) {
  LineReader reader(8);
  reader.feed("123456789");
  EXPECT_EQ(lines_of(reader), Lines{"<too long>"});
  for (int i = 0; i < 1000; ++i) reader.feed("more of the same line");
  EXPECT_EQ(lines_of(reader), Lines{});
  EXPECT_FALSE(reader.rest().has_value());
  reader.feed("\nnext\n");
  EXPECT_EQ(lines_of(reader), Lines{"next"});
}

class Pipe : public ::testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
  }
  OwnedFd read_;
  OwnedFd write_;
};

using LineQueueTest = Pipe;

TEST_F(LineQueueTest, WritesEverythingInOrderToASlowReader) {
  LineQueue queue;
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    const std::string line(static_cast<std::size_t>(i) * 37, static_cast<char>('a' + i % 26));
    queue.push(line);
    if (!line.empty()) expected += line + "\n";
  }
  LineReader reader;
  std::string got;
  for (int i = 0; i < 100'000 && !queue.empty(); ++i) {
    ASSERT_NE(queue.flush(write_.get()), IoState::kClosed);
    if (read_some(read_.get(), reader) != IoState::kOpen) continue;
    for (const std::string& line : lines_of(reader)) got += line + "\n";
  }
  while (read_some(read_.get(), reader) == IoState::kOpen) {
  }
  for (const std::string& line : lines_of(reader)) got += line + "\n";
  EXPECT_EQ(got, expected);
  EXPECT_EQ(queue.bytes(), 0U);
}

TEST_F(LineQueueTest, BlocksOnAFullPipeAndCountsWhatWaits) {
  LineQueue queue;
  queue.push(std::string(1 << 20, 'x'));
  EXPECT_EQ(queue.flush(write_.get()), IoState::kBlocked);
  EXPECT_GT(queue.bytes(), std::size_t{900} << 10);
  EXPECT_LT(queue.bytes(), std::size_t{1} << 20);
}

TEST_F(LineQueueTest, SaysThatTheReaderHasGone) {
  LineQueue queue;
  queue.push("x");
  read_.reset();
  EXPECT_EQ(queue.flush(write_.get()), IoState::kClosed);
}

TEST_F(LineQueueTest, ReadingTellsNothingYetFromEndOfFile) {
  LineReader reader;
  EXPECT_EQ(read_some(read_.get(), reader), IoState::kBlocked);
  write_.reset();
  EXPECT_EQ(read_some(read_.get(), reader), IoState::kClosed);
}

}  // namespace
}  // namespace sbx
