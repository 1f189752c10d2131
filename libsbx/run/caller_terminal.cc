// SPDX-License-Identifier: Apache-2.0
// Modes of the line by termios, those of the screen by escapes.
#include "run/caller_terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"

namespace sbx {
namespace {

constexpr std::size_t kChunk = 4096;

// A description of our own, that does not block: the caller's is shared with others. Where it
// cannot be opened again (a terminal of another mount namespace) the caller's must do, and of a
// file, where each description has a place of its own.
OwnedFd reopen_terminal() {
  struct stat info {};
  if (fstat(STDOUT_FILENO, &info) == 0 && S_ISREG(info.st_mode)) return {};
  return OwnedFd(open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

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

CallerTerminal::CallerTerminal() : own_out_(reopen_terminal()) {
  out_ = own_out_.is_open() ? own_out_.get() : STDOUT_FILENO;
  make_raw();
}

void CallerTerminal::make_raw() {
  if (tcgetattr(STDIN_FILENO, &saved_) != 0) return;
  struct termios raw = saved_;
  cfmakeraw(&raw);
  is_raw_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void CallerTerminal::restore(bool all_is_written) {
  if (!std::exchange(is_raw_, false)) return;
  std::string undo = modes_.undo();
  if (!undo.empty() && all_is_written && is_ready(out_, POLLOUT)) write_some(out_, undo);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_);
}

void CallerTerminal::resume() {
  make_raw();
  std::string redo = modes_.redo();
  if (!redo.empty() && is_ready(out_, POLLOUT)) write_some(out_, redo);
}

bool CallerTerminal::size(struct winsize& size) const {
  return ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 && size.ws_col != 0;
}

}  // namespace sbx
