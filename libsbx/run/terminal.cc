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

namespace sbx {

Terminal::Terminal(OwnedFd master, Loop& loop) : master_(std::move(master)), loop_(loop) {
  fcntl(master_.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  resize();
  update_interest();
}

Terminal::~Terminal() { restore(); }

void Terminal::restore() { caller_.restore(to_caller_.empty()); }

// A session's own group has no parent in its session: the kernel would let it go on.
void Terminal::take_suspension() {
  struct termios inside {};
  if (tcgetattr(master_.get(), &inside) != 0 || (inside.c_lflag & ISIG) == 0) return;
  const cc_t key = inside.c_cc[VSUSP];
  const std::size_t at = to_command_.find(static_cast<char>(key));
  if (key == _POSIX_VDISABLE || at == std::string::npos) return;
  pid_t front = 0;
  pid_t session = 0;
  if (ioctl(master_.get(), TIOCGPGRP, &front) != 0 ||
      ioctl(master_.get(), TIOCGSID, &session) != 0 || front != session || front <= 1) {
    return;
  }
  to_command_.erase(at, 1);
  suspend(front);
}

void Terminal::suspend(pid_t group) {
  kill(-group, SIGSTOP);
  restore();
  // Here we stand until somebody says SIGCONT; at once, where nobody could.
  kill(0, SIGTSTP);
  caller_.resume();
  resize();
  kill(-group, SIGCONT);
  kill(-group, SIGWINCH);  // it draws itself anew
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
    if (!is_hung_up_) take_suspension();
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
