// SPDX-License-Identifier: Apache-2.0
// The kill loop: children are stopped before they are killed, so that they fork no further.
#include "launch/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/ascii.h"

namespace sbx {
namespace {

// Sends the signal to each pid in the list; returns how many there were.
int signal_listed(int fd, int number) {
  char buffer[4096];
  int count = 0;
  pid_t pid = 0;
  for (;;) {
    const ssize_t size = ::read(fd, buffer, sizeof buffer);
    if (size <= 0) return count;
    for (ssize_t i = 0; i < size; ++i) {
      if (is_digit(buffer[i])) {
        pid = pid * 10 + (buffer[i] - '0');
      } else if (pid > 0) {
        ::kill(pid, number);
        if (number != SIGKILL) ::kill(-pid, number);  // its process group, where it leads one
        ++count;
        pid = 0;
      }
    }
  }
}

}  // namespace

std::int64_t now_ms() noexcept {
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void ask_descendants_to_end(bool has_pid_namespace) noexcept {
  if (has_pid_namespace) {
    ::kill(-1, SIGTERM);  // everything in it but PID 1 itself
    return;
  }
  const int fd = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  signal_listed(fd, SIGTERM);
  ::close(fd);
}

bool kill_descendants(int max_ms) noexcept {
  const std::int64_t end = now_ms() + max_ms;
  for (;;) {
    // thread-self: the subreaper is single-threaded, or its children belong to this thread.
    const int fd = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const int count = signal_listed(fd, SIGKILL);
    ::close(fd);
    pid_t reaped = 0;
    do {
      reaped = ::waitpid(-1, nullptr, count > 0 ? 0 : WNOHANG);
    } while (reaped < 0 && errno == EINTR);
    while (reaped > 0) reaped = ::waitpid(-1, nullptr, WNOHANG);
    if (reaped < 0 && errno == ECHILD) return true;
    if (now_ms() > end) return false;
  }
}

}  // namespace sbx
