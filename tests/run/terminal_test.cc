// SPDX-License-Identifier: Apache-2.0
// The relay between two pseudo-terminals: the test's own 0 and 1 stand for the caller's.
#include "run/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

namespace sbx {
namespace {

struct Pty {
  Pty() {
    int a = -1;
    int b = -1;
    EXPECT_EQ(openpty(&a, &b, nullptr, nullptr, nullptr), 0);
    master.reset(a);
    slave.reset(b);
    fcntl(master.get(), F_SETFL, O_RDWR | O_NONBLOCK);
    fcntl(slave.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  }
  OwnedFd master;
  OwnedFd slave;
};

class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(loop_.open().ok());
    saved_in_.reset(fcntl(0, F_DUPFD_CLOEXEC, 3));
    saved_out_.reset(fcntl(1, F_DUPFD_CLOEXEC, 3));
    dup2(caller_.slave.get(), 0);
    dup2(caller_.slave.get(), 1);
    terminal_.emplace(std::move(inside_.master), loop_);
  }
  void TearDown() override {
    terminal_.reset();
    dup2(saved_in_.get(), 0);
    dup2(saved_out_.get(), 1);
  }

  // What comes out at `fd`, once it is `wanted`; or what has come after a while.
  std::string read_until(int fd, const std::string& wanted) {
    std::string got;
    for (int i = 0; i < 2000 && got != wanted; ++i) {
      loop_.step(1);
      char buffer[256];
      const ssize_t size = read(fd, buffer, sizeof buffer);
      if (size > 0) got.append(buffer, static_cast<std::size_t>(size));
    }
    return got;
  }
  bool is_raw() const {
    struct termios state {};
    EXPECT_EQ(tcgetattr(caller_.slave.get(), &state), 0);
    return (state.c_lflag & (ICANON | ECHO)) == 0;
  }

  Pty caller_;
  Pty inside_;
  Loop loop_;
  OwnedFd saved_in_;
  OwnedFd saved_out_;
  std::optional<Terminal> terminal_;
};

TEST_F(TerminalTest, WhatTheCallerTypesComesOutInside) {
  ASSERT_EQ(write(caller_.master.get(), "list\n", 5), 5);
  EXPECT_EQ(read_until(inside_.slave.get(), "list\n"), "list\n");
}

TEST_F(TerminalTest, WhatIsWrittenInsideComesOutAtTheCallers) {
  ASSERT_EQ(write(inside_.slave.get(), "answer", 6), 6);
  EXPECT_EQ(read_until(caller_.master.get(), "answer"), "answer");
}

TEST_F(TerminalTest, TheCallersTerminalIsRawUntilItIsRestored) {
  EXPECT_TRUE(is_raw());
  terminal_->restore();
  EXPECT_FALSE(is_raw());
  terminal_->restore();
  EXPECT_FALSE(is_raw());
}

TEST_F(TerminalTest, TheSizeInsideFollowsTheCallers) {
  const struct winsize size { 50, 132, 0, 0 };
  ASSERT_EQ(ioctl(caller_.master.get(), TIOCSWINSZ, &size), 0);
  terminal_->resize();
  struct winsize inside {};
  ASSERT_EQ(ioctl(inside_.slave.get(), TIOCGWINSZ, &inside), 0);
  EXPECT_EQ(inside.ws_row, 50);
  EXPECT_EQ(inside.ws_col, 132);
}

TEST_F(TerminalTest, IsOpenUntilTheLastWordFromInsideIsRelayed) {
  ASSERT_EQ(write(inside_.slave.get(), "bye", 3), 3);
  inside_.slave.reset();
  EXPECT_TRUE(terminal_->is_open());
  EXPECT_EQ(read_until(caller_.master.get(), "bye"), "bye");
  for (int i = 0; i < 2000 && terminal_->is_open(); ++i) loop_.step(1);
  EXPECT_FALSE(terminal_->is_open());
}

}  // namespace
}  // namespace sbx
