// SPDX-License-Identifier: Apache-2.0
// The relay between two terminals.
#include "run/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"

namespace sbx {
namespace {

constexpr int kMostRelayed = 64;  // of a few KiB, before it is suspended

}  // namespace

Terminal::Terminal(OwnedFd master, Loop& loop) : master_(std::move(master)), loop_(loop) {
  fcntl(master_.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  resize();
  update_interest();
}

Terminal::~Terminal() { restore(); }

void Terminal::restore() { caller_.restore(to_caller_.empty()); }

void Terminal::suspend() {
  // What it wrote before.
  for (int i = 0; i < kMostRelayed && !is_hung_up_ && is_ready(master_.get(), POLLIN) &&
                  (to_caller_.empty() || is_ready(caller_.out(), POLLOUT));
       ++i) {
    relay();
  }
  restore();
  // Here we stand until somebody says SIGCONT; at once, where nobody could.
  kill(0, SIGTSTP);
  caller_.resume();
  resize();
}

void Terminal::resize() {
  struct winsize size {};
  if (caller_.size(size)) ioctl(master_.get(), TIOCSWINSZ, &size);
}

// With no events it would still be told of a hang-up, again and again.
void Terminal::want(Loop::Watch& watch, int fd, std::uint32_t events) {
  if (events == 0) {
    watch.stop();
  } else if (watch.is_on()) {
    watch.want(events);
  } else {
    watch = loop_.watch(fd, events, [this](std::uint32_t) { relay(); });
  }
}

void Terminal::update_interest() {
  const bool open = !is_hung_up_;
  std::uint32_t pty = 0;
  if (open && to_caller_.empty()) pty |= EPOLLIN;
  if (open && !to_command_.empty()) pty |= EPOLLOUT;
  if (open) want(pty_watch_, master_.get(), pty);
  const bool wants_input = open && to_command_.empty() && !input_ended_;
  want(in_watch_, STDIN_FILENO, wants_input ? std::uint32_t{EPOLLIN} : 0);
  want(out_watch_, caller_.out(), to_caller_.empty() ? 0 : std::uint32_t{EPOLLOUT});
}

void Terminal::relay() {
  if (!input_ended_ && to_command_.empty() && is_ready(STDIN_FILENO, POLLIN)) {
    if (!read_some(STDIN_FILENO, to_command_)) input_ended_ = true;
  }
  if (!is_hung_up_ && !to_command_.empty() && is_ready(master_.get(), POLLOUT)) {
    if (!write_some(master_.get(), to_command_)) to_command_.clear();
  }
  if (!to_caller_.empty() && is_ready(caller_.out(), POLLOUT)) {
    if (!write_some(caller_.out(), to_caller_)) to_caller_.clear();
  }
  if (!is_hung_up_ && to_caller_.empty() && is_ready(master_.get(), POLLIN)) {
    // EIO: every slave is closed.
    if (!read_some(master_.get(), to_caller_)) {
      // Closed, it would hang up on a program that is about to end by itself.
      pty_watch_.stop();
      is_hung_up_ = true;
    } else {
      caller_.note(to_caller_);
      if (!to_caller_.empty() && is_ready(caller_.out(), POLLOUT))
        write_some(caller_.out(), to_caller_);
    }
  }
  update_interest();
}

}  // namespace sbx
