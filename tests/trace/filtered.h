// SPDX-License-Identifier: Apache-2.0
// Filtered: a child whose calls of some kinds wait for a seccomp listener here, as a command's do.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/owned_fd.h"

namespace sbx::test {

class Filtered {
 public:
  // `work` runs in the child; its exit status is what it returns. Calls of i386 wait, too.
  Filtered(const std::vector<int>& calls, const std::function<int()>& work);
  ~Filtered();
  Filtered(const Filtered&) = delete;
  Filtered& operator=(const Filtered&) = delete;

  pid_t pid() const { return pid_; }
  // Not open where the kernel has none to give: a listener is in force above.
  OwnedFd take_listener() { return std::move(listener_); }
  void kill();
  // Its exit status, or 128 and the signal; nullopt while it runs.
  std::optional<int> ended();

  // Calls `step` whenever one of the descriptors (those of -1 are left out) is readable, or a
  // moment has passed, until the child has ended: its exit status. -1 where that takes too long.
  int serve(const std::function<std::vector<int>()>& descriptors,
            const std::function<void()>& step);

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  OwnedFd listener_;
};

// Such as the name that a process gives itself.
void set_own_name(const std::string& name);

}  // namespace sbx::test
