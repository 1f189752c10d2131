// SPDX-License-Identifier: Apache-2.0
// The relay between two terminals.
#include "run/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace sbx {
namespace {

constexpr std::size_t kChunk = 4096;

bool is_ready(int fd, short events) {
  struct pollfd ready {
    fd, events, 0
  };
  return poll(&ready, 1, 0) == 1 && (ready.revents & (events | POLLHUP | POLLERR)) != 0;
}

// A description of our own, that does not block: the caller's is shared with others. Where it
// cannot be opened again (a terminal of another mount namespace) the caller's must do.
OwnedFd reopen_terminal() {
  return OwnedFd(open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

bool read_some(int fd, std::string& into) {
  std::array<char, kChunk> buffer{};
  const ssize_t size = read(fd, buffer.data(), buffer.size());
  if (size > 0) into.append(buffer.data(), static_cast<std::size_t>(size));
  return size > 0 || (size < 0 && (errno == EAGAIN || errno == EINTR));
}

bool write_some(int fd, std::string& from) {
  const ssize_t size = write(fd, from.data(), std::min(from.size(), kChunk));
  if (size > 0) from.erase(0, static_cast<std::size_t>(size));
  return size > 0 || errno == EAGAIN || errno == EINTR;
}

}  // namespace

Terminal::Terminal(OwnedFd master, Loop& loop) : master_(std::move(master)), loop_(loop) {
  fcntl(master_.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  own_out_ = reopen_terminal();
  out_ = own_out_.is_open() ? own_out_.get() : STDOUT_FILENO;
  make_raw();
  resize();
  update_interest();
}

Terminal::~Terminal() { restore(); }

void Terminal::make_raw() {
  if (tcgetattr(STDIN_FILENO, &saved_) != 0) return;
  struct termios raw = saved_;
  cfmakeraw(&raw);
  is_raw_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void Terminal::restore() {
  if (!std::exchange(is_raw_, false)) return;
  std::string undo = modes_.undo();
  if (!undo.empty() && to_caller_.empty() && is_ready(out_, POLLOUT)) write_some(out_, undo);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_);
}

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
  make_raw();
  resize();
  std::string redo = modes_.redo();
  if (!redo.empty() && is_ready(out_, POLLOUT)) write_some(out_, redo);
  kill(-group, SIGCONT);
  kill(-group, SIGWINCH);  // it draws itself anew
}

void Terminal::resize() {
  struct winsize size {};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) ioctl(master_.get(), TIOCSWINSZ, &size);
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
  want(out_watch_, out_, to_caller_.empty() ? 0 : std::uint32_t{EPOLLOUT});
}

void Terminal::relay() {
  if (!input_ended_ && to_command_.empty() && is_ready(STDIN_FILENO, POLLIN)) {
    if (!read_some(STDIN_FILENO, to_command_)) input_ended_ = true;
    if (!is_hung_up_) take_suspension();
  }
  if (!is_hung_up_ && !to_command_.empty() && is_ready(master_.get(), POLLOUT)) {
    if (!write_some(master_.get(), to_command_)) to_command_.clear();
  }
  if (!to_caller_.empty() && is_ready(out_, POLLOUT)) {
    if (!write_some(out_, to_caller_)) to_caller_.clear();
  }
  if (!is_hung_up_ && to_caller_.empty() && is_ready(master_.get(), POLLIN)) {
    // EIO: every slave is closed.
    if (!read_some(master_.get(), to_caller_)) {
      // Closed, it would hang up on a program that is about to end by itself.
      pty_watch_.stop();
      is_hung_up_ = true;
    } else {
      modes_.append(to_caller_);
      if (!to_caller_.empty() && is_ready(out_, POLLOUT)) write_some(out_, to_caller_);
    }
  }
  update_interest();
}

}  // namespace sbx
