// SPDX-License-Identifier: Apache-2.0
// The loop by itself: pipes and points in time, and handles that go in the middle of a step.
#include "base/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace sbx {
namespace {

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) ends[0] = ends[1] = -1;
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  void fill() const { EXPECT_EQ(::write(write.get(), "x", 1), 1); }

  OwnedFd read;
  OwnedFd write;
};

class LoopTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(loop_.open().ok()); }
  Loop loop_;
};

TEST_F(LoopTest, CallsForWhatIsReadyUntilItIsNoMore) {
  const Pipe pipe;
  int calls = 0;
  const Loop::Watch watch = loop_.watch(pipe.read.get(), EPOLLIN, [&](std::uint32_t events) {
    EXPECT_EQ(events, std::uint32_t{EPOLLIN});
    char byte = 0;
    if (++calls < 2) return;
    EXPECT_EQ(read(pipe.read.get(), &byte, 1), 1);
  });
  ASSERT_TRUE(watch.is_on());
  loop_.step();
  EXPECT_EQ(calls, 0);
  pipe.fill();
  for (int i = 0; i < 4; ++i) loop_.step();
  EXPECT_EQ(calls, 2);
}

TEST_F(LoopTest, ADroppedHandleIsNotCalledForAnEventThatWasFetchedAlready) {
  const Pipe first;
  const Pipe second;
  int calls = 0;
  Loop::Watch watches[2];
  for (int i = 0; i < 2; ++i) {
    watches[i] = loop_.watch((i == 0 ? first : second).read.get(), EPOLLIN,
                             [&, other = 1 - i](std::uint32_t) {
                               ++calls;
                               watches[other].stop();
                             });
  }
  first.fill();
  second.fill();
  loop_.step();
  EXPECT_EQ(calls, 1);
}

TEST_F(LoopTest, AHandleMayGoInItsOwnCallback) {
  const Pipe pipe;
  int calls = 0;
  Loop::Watch watch;
  watch = loop_.watch(pipe.read.get(), EPOLLIN, [&](std::uint32_t) {
    ++calls;
    watch.stop();
  });
  pipe.fill();
  loop_.step();
  loop_.step();
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(watch.is_on());
}

TEST_F(LoopTest, WhatIsBuriedLivesToTheEndOfTheStep) {
  const Pipe pipe;
  auto object = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = object;
  const Loop::Watch watch = loop_.watch(pipe.read.get(), EPOLLIN, [&](std::uint32_t) {
    if (object) loop_.bury(std::move(object));
    EXPECT_FALSE(seen.expired());
  });
  pipe.fill();
  loop_.step();
  EXPECT_TRUE(seen.expired());
}

TEST_F(LoopTest, TimersComeInTheirOrderAndAfterWhatIsReady) {
  const Pipe pipe;
  std::string order;
  const Loop::Timer later = loop_.after(std::chrono::milliseconds(5), [&] { order += '2'; });
  const Loop::Timer sooner = loop_.after(-std::chrono::seconds(1), [&] { order += '1'; });
  const Loop::Timer never = loop_.after(std::chrono::hours(1), [&] { order += '!'; });
  const Loop::Watch watch = loop_.watch(pipe.read.get(), EPOLLIN, [&](std::uint32_t) {
    char byte = 0;
    EXPECT_EQ(read(pipe.read.get(), &byte, 1), 1);
    order += 'r';
  });
  pipe.fill();
  while (order.size() < 3) loop_.step(-1);
  EXPECT_EQ(order, "r12");
}

TEST_F(LoopTest, ATimerThatIsSetByATimerWaitsForTheNextStep) {
  int calls = 0;
  Loop::Timer timer;
  const std::function<void()> again = [&] {
    ++calls;
    timer = loop_.after(std::chrono::seconds(-1), again);
  };
  again();
  loop_.step();
  EXPECT_EQ(calls, 2);
  loop_.step();
  EXPECT_EQ(calls, 3);
}

TEST_F(LoopTest, AStoppedTimerNeverComesAndIsNoDeadline) {
  Loop::Timer timer = loop_.after(std::chrono::seconds(-1), [] { FAIL(); });
  EXPECT_TRUE(loop_.deadline().has_value());
  timer.stop();
  EXPECT_FALSE(loop_.deadline().has_value());
  loop_.step();
}

TEST_F(LoopTest, AnotherLoopCanWaitForIt) {
  Loop outer;
  ASSERT_TRUE(outer.open().ok());
  const Pipe pipe;
  bool was_called = false;
  const Loop::Watch inside =
      loop_.watch(pipe.read.get(), EPOLLIN, [&](std::uint32_t) { was_called = true; });
  const Loop::Watch outside =
      outer.watch(loop_.fd(), EPOLLIN, [&](std::uint32_t) { loop_.step(); });
  outer.step();
  EXPECT_FALSE(was_called);
  pipe.fill();
  outer.step();
  EXPECT_TRUE(was_called);
}

TEST_F(LoopTest, ARefusedRegistrationSaysSo) {
  const Loop::Watch watch = loop_.watch(-1, EPOLLIN, [](std::uint32_t) {});
  EXPECT_EQ(errno, EBADF);
  EXPECT_FALSE(watch.is_on());
}

TEST_F(LoopTest, OnceClosedItCallsNobodyAndCannotWait) {
  const Pipe pipe;
  Loop::Watch watch = loop_.watch(pipe.read.get(), EPOLLIN, [](std::uint32_t) { FAIL(); });
  Loop::Timer timer = loop_.after(std::chrono::seconds(-1), [] { FAIL(); });
  pipe.fill();
  loop_.close();
  EXPECT_EQ(loop_.step(), EBADF);
  watch.stop();
  timer.stop();
}

}  // namespace
}  // namespace sbx
