// SPDX-License-Identifier: Apache-2.0
// Texts for a command that reads slowly, not at all, or no more.
#include "session/stdin_queue.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace sbx {
namespace {

class StdinQueueTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    Result<OwnedFd> reader = queue_.open();
    ASSERT_TRUE(reader.ok());
    reader_ = std::move(reader).value();
  }
  StdinQueue::Done note() {
    return [this](Status status) { told_.push_back(std::move(status)); };
  }
  std::string read_some(std::size_t size) {
    std::string text(size, '\0');
    const ssize_t got = read(reader_.get(), text.data(), size);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return text;
  }

  StdinQueue queue_;
  OwnedFd reader_;
  std::vector<Status> told_;
};

TEST_F(StdinQueueTest, TellsWhenATextIsInThePipeAndClosesBehindTheLast) {
  ASSERT_TRUE(queue_.push("a", false, note()).ok());
  ASSERT_TRUE(queue_.push("b", true, note()).ok());
  EXPECT_TRUE(told_.empty());
  EXPECT_FALSE(queue_.push("c", false, note()).ok());
  queue_.write();
  EXPECT_EQ(told_.size(), 2U);
  EXPECT_EQ(read_some(10), "ab");
  EXPECT_EQ(read_some(10), "");
  EXPECT_TRUE(queue_.is_closed());
}

TEST_F(StdinQueueTest, HoldsABoundedAmountForAReaderThatDoesNotRead) {
  const std::string text(std::size_t{700} << 10, 'x');
  ASSERT_TRUE(queue_.push(text, false, note()).ok());
  queue_.write();
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(queue_.is_waiting());
  const Status refused = queue_.push(text, false, note());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooMany);
  std::size_t got = 0;
  for (int i = 0; i < 1000 && got < text.size(); ++i) {
    got += read_some(std::size_t{64} << 10).size();
    queue_.write();
  }
  EXPECT_EQ(got, text.size());
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(told_[0].ok());
  EXPECT_FALSE(queue_.is_waiting());
}

TEST_F(StdinQueueTest, TakesMoreAtOnceOnlyOfTheRequestItself) {
  const std::string text(StdinQueue::kMostBytes + 1, 'x');
  const Status refused = queue_.push(text, false, note());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooMany);
  ASSERT_TRUE(queue_.push(text.substr(1), false, note()).ok());
  EXPECT_FALSE(queue_.push("y", false, note()).ok());
  EXPECT_FALSE(queue_.push(text, false, nullptr).ok());

  StdinQueue own;
  Result<OwnedFd> reader = own.open();
  ASSERT_TRUE(reader.ok());
  reader_ = std::move(reader).value();
  ASSERT_TRUE(own.push(text, true, nullptr).ok());
  std::size_t got = 0;
  for (int i = 0; i < 1000 && got < text.size(); ++i) {
    own.write();
    got += read_some(std::size_t{64} << 10).size();
  }
  EXPECT_EQ(got, text.size());
}

TEST_F(StdinQueueTest, SaysThatNobodyReadsAnyMore) {
  reader_.reset();
  ASSERT_TRUE(queue_.push("x", false, note()).ok());
  queue_.write();
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_FALSE(told_[0].ok());
  EXPECT_TRUE(queue_.is_closed());
}

}  // namespace
}  // namespace sbx
