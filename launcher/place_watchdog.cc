// SPDX-License-Identifier: Apache-2.0
// Forked before the server has anything but its socket.
#include "place_watchdog.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "session/remove_tree.h"
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
  // The watchdog: no signal of the terminal ends it.
  setsid();
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_IGN);
  const int keep = read_end.get();
  close_others(keep, place != nullptr ? place->directory().fd.get() : keep);
  char byte = 0;
  while (read(keep, &byte, 1) < 0 && errno == EINTR) {
  }
  if (place != nullptr) place->remove();
  // The last commands may outlive the server by a moment, and write.
  for (int i = 0; i < 100 && !workspace.empty() && access(workspace.c_str(), F_OK) == 0; ++i) {
    if (remove_tree(workspace)) break;
    const struct timespec pause { 0, 50'000'000 };
    nanosleep(&pause, nullptr);
  }
  _exit(0);
}

}  // namespace sbx
