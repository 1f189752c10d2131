// SPDX-License-Identifier: Apache-2.0
// Processes: /proc → what the processes of a task use, all together.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace sbx {

struct TreeUse {
  double cpu_percent = 0;  // of one processor, since the look before
  std::int64_t memory_kb = 0;
};

class Processes {
 public:
  // Reads all of /proc once.
  void look();
  // Of a task's process and whatever began it below `server`, with all that is beneath.
  std::optional<TreeUse> of(pid_t task, pid_t server) const;

 private:
  struct Process {
    pid_t parent = 0;
    std::int64_t ticks = 0;
    std::int64_t new_ticks = 0;  // since the look before
    std::int64_t pages = 0;
  };
  void read(pid_t pid, const char* name);

  std::map<pid_t, Process> processes_;
  std::map<pid_t, Process> before_;
  std::multimap<pid_t, pid_t> children_;
  std::chrono::steady_clock::time_point looked_at_{};
  double seconds_ = 0;
};

}  // namespace sbx
