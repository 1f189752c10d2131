// SPDX-License-Identifier: Apache-2.0
// MemoryCount: memory that no process's resident set shows. Files in memory that nobody has mapped,
// shared mappings whose pages were let go of, and what waits in sockets. An upper bound where the
// kernel tells only the size.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace sbx {

class MemoryCount {
 public:
  // Asked while it counts: whether to leave off, since what is counted is the command's to choose.
  using IsLate = std::function<bool()>;
  explicit MemoryCount(IsLate is_late = nullptr) : is_late_(std::move(is_late)) {}

  // Files in memory that the process holds open. `proc` is a procfs, `pid` an entry of it.
  void add_open(int proc, const std::string& pid);

  // Those that it has mapped, and its shared anonymous mappings: what they hold where this process
  // may look (the host's root), else the part of them that is mapped.
  void add_mapped(int proc, const std::string& pid);
  // The same for one text in the form of /proc/PID/maps.
  void add_maps(int proc, const std::string& pid, std::string_view text);

  // Each file once.
  std::int64_t bytes() const;

 private:
  struct Held {
    std::int64_t bytes = 0;
    bool is_exact = false;
  };
  void note(dev_t device, ino_t inode, std::int64_t bytes, bool is_exact);
  bool is_late() const { return is_late_ && is_late_(); }

  IsLate is_late_;
  std::map<std::pair<dev_t, ino_t>, Held> held_;
};

// What waits in the sockets of the network namespace that `diag` (sock_diag(7)) was made in. Data
// in a Unix socket counts for the sender and, as far as the kernel tells, for the receiver. Leaves
// off when it is late.
std::int64_t socket_bytes(int diag, const MemoryCount::IsLate& is_late = nullptr);

}  // namespace sbx
