// SPDX-License-Identifier: Apache-2.0
// One turn of a small poll loop, and bytes from the caller: for the verbs that hold a session
// themselves.
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sbx {

class PollTurn {
 public:
  using Clock = std::chrono::steady_clock;

  void read(int fd) { add(fd, POLLIN); }
  void write(int fd) { add(fd, POLLOUT); }
  void until(std::optional<Clock::time_point> when) {
    if (when && (!until_ || *when < *until_)) until_ = when;
  }
  // Until one of them is ready, has failed or ended, or the time has come.
  void wait();
  bool is_ready(int fd) const;

 private:
  void add(int fd, short events) {
    if (fd >= 0) fds_.push_back({fd, events, 0});
  }
  std::vector<pollfd> fds_;
  std::optional<Clock::time_point> until_;
};

// The number of a signal that waits in a signalfd; 0: none.
int read_signal(int signal_fd);

// All of a file, or of stdin where `path` is empty or "-"; at most 16 MiB.
// Errors: kPathNotFound, kPathRefused, kTooLarge.
Result<std::string> read_params_text(const std::string& path);

}  // namespace sbx
