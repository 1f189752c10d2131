// SPDX-License-Identifier: Apache-2.0
// Forked before the server makes anything.
#include "place_watchdog.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "host_files/remove_tree.h"
#include "sys/calls.h"

namespace sbx {
namespace {

// Everything but two descriptors.
void close_others(int a, int b) {
  const auto low = static_cast<unsigned>(std::min(a, b));
  const auto high = static_cast<unsigned>(std::max(a, b));
  if (low > 0) sys::close_range(0, low - 1, 0);
  if (high > low + 1) sys::close_range(low + 1, high - 1, 0);
  sys::close_range(high + 1, ~0U, 0);
}

// Waits for the server's end. What it has told until then; nullopt: nothing.
std::optional<SocketMark> read_mark(int fd) {
  SocketMark mark;
  std::size_t have = 0;
  for (;;) {
    char byte = 0;
    const bool is_wanted = have < sizeof mark;
    char* const to = is_wanted ? reinterpret_cast<char*>(&mark) + have : &byte;
    const ssize_t size = read(fd, to, is_wanted ? sizeof mark - have : 1);
    if (size > 0 && is_wanted) have += static_cast<std::size_t>(size);
    if (size == 0 || (size < 0 && errno != EINTR)) break;
  }
  return have == sizeof mark ? std::optional(mark) : std::nullopt;
}

void remove_place(SocketPlace& place, const std::optional<SocketMark>& mark) {
  if (!mark) return place.remove_unserved();
  place.adopt(*mark);
  place.remove();
}

}  // namespace

PlaceWatchdog::~PlaceWatchdog() {
  if (pid_ < 0) return;
  lifeline_.reset();
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Status PlaceWatchdog::watch(SocketPlace* place, const std::string& workspace) {
  int ends[2];
  const bool is_piped = pipe2(ends, O_CLOEXEC) == 0;
  if (is_piped) pid_ = fork();
  if (!is_piped || pid_ < 0) {
    return Error{ErrorCode::kSetupFailed, "pipe2, fork: " + errno_text(errno), "fork", "", errno};
  }
  const OwnedFd read_end(ends[0]);
  lifeline_.reset(ends[1]);
  if (pid_ > 0) return {};
  // The watchdog: no signal of the terminal ends it, nor who kills every sbx-run by its name.
  prctl(PR_SET_NAME, "sbx-watchdog");
  setsid();
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_IGN);
  const int keep = read_end.get();
  close_others(keep, place != nullptr ? place->directory().fd.get() : keep);
  const std::optional<SocketMark> mark = read_mark(keep);
  if (place != nullptr) remove_place(*place, mark);
  // The last commands may outlive the server by a moment, and write.
  for (int i = 0; i < 100 && !workspace.empty() && access(workspace.c_str(), F_OK) == 0; ++i) {
    if (remove_tree(workspace)) break;
    const struct timespec pause { 0, 50'000'000 };
    nanosleep(&pause, nullptr);
  }
  _exit(0);
}

Status PlaceWatchdog::tell(const SocketMark& mark) const {
  // At most PIPE_BUF bytes: all or nothing.
  if (write(lifeline_.get(), &mark, sizeof mark) == sizeof mark) return {};
  return Error{ErrorCode::kSetupFailed, "write(watchdog): " + errno_text(errno), "write", "",
               errno};
}

}  // namespace sbx
