// SPDX-License-Identifier: Apache-2.0
// TreeWatch: holds the limits that no kernel mechanism holds here (memory and CPU of a whole tree,
// processes of a root caller) by looking at the sandbox's own procfs. How long until the next look
// follows from what is left, so that a small command is never looked at; and from what it took, so
// that a tree that is made to be slow to look at takes a bounded part of the supervisor's time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "model/limit.h"
#include "run/memory_count.h"
#include "trace/apart.h"

namespace sbx {

struct WatchLimits {
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> cpu_ms;
  std::optional<std::int64_t> pids;
  bool kernel_holds_pids = false;           // then reaching it ends nothing, and is told in the end
  std::optional<std::int64_t> layer_bytes;  // that `layer_parts` may take on the disk
  std::vector<std::string> layer_parts;
  bool any() const { return memory_bytes || cpu_ms || pids || layer_bytes; }
};

class TreeWatch {
 public:
  // `init` is PID 1 of the tree, in the caller's pid namespace.
  TreeWatch(const WatchLimits& limits, pid_t init) : limits_(limits), init_(init) {}

  // The sandbox's procfs and its scratch tmpfs, once the child has sent them.
  void set_proc(OwnedFd fd) { take(proc_, std::move(fd)); }
  void set_scratch(OwnedFd fd) { take(scratch_, std::move(fd)); }
  // Its /proc/sysvipc/shm, opened in its own IPC namespace.
  void set_shared_memory(OwnedFd fd) { take(shared_memory_, std::move(fd)); }

  // Lists the sockets of its network namespace.
  void set_socket_diag(OwnedFd fd) { take(socket_diag_, std::move(fd)); }

  // What was full, as far as a look has shown.
  bool has_reached_pids() const { return has_reached_pids_; }
  bool has_filled_scratch() const;

  // The command starts now. Milliseconds until the first look.
  int first_look();
  // Looks once, for no longer than some milliseconds: a tree that takes more is looked at by a
  // process apart from then on, which is asked here. The limit that is exceeded, or
  // nullopt. `next_ms` is when to look again at the latest, in milliseconds from now.
  std::optional<Limit> look(int& next_ms);

 private:
  void take(OwnedFd& to, OwnedFd fd);
  std::optional<Limit> look_once(int& next_ms);
  std::optional<Limit> ask_apart(int& next_ms);
  std::optional<Limit> look_at_disk(int& next_ms);
  std::optional<Limit> look_at_processes(int& next_ms);
  std::string look_until_exceeded(Apart::Note& note);
  void note_pids();
  bool takes_too_long();
  struct Sums {
    std::int64_t resident_bytes = 0;  // an upper bound: shared pages count for each process
    std::int64_t cpu_ticks = 0;
    std::int64_t pids = 0;          // threads
    std::int64_t mapped_bytes = 0;  // by size: neither data nor stack
  };
  // Each costs several times the one before.
  enum class Depth : std::uint8_t { kCount, kEstimate, kMapped };
  Sums sum_processes(Depth depth);
  std::vector<std::string> processes(int proc) const;
  std::int64_t exact_memory();
  std::int64_t order_by_private(int proc, std::vector<std::string>& pids) const;
  bool has_grown();
  bool grows();
  std::int64_t scratch_bytes() const;
  std::int64_t segment_bytes() const;
  std::int64_t other_bytes(const MemoryCount::IsLate& is_late) const;
  bool has_sockets() const;  // beside socket_diag_ itself

  WatchLimits limits_;
  pid_t init_;
  std::chrono::steady_clock::time_point estimate_due_;  // of memory and CPU time
  std::chrono::steady_clock::time_point disk_due_;      // of what a kept layer takes
  OwnedFd proc_;
  OwnedFd scratch_;
  OwnedFd shared_memory_;
  OwnedFd socket_diag_;
  bool has_reached_pids_ = false;
  bool has_filled_scratch_ = false;
  std::unique_ptr<Apart> apart_;
  std::unique_ptr<Apart> disk_apart_;  // counts what a kept layer takes
  Apart::Note* note_ = nullptr;        // in the copy: the pids limit has been reached
  bool is_apart_ = false;              // this is the copy in that process
  bool is_too_long_ = false;           // the look was cut short: what it found counts for nothing
  // In the copy: a look may take seconds, and so must not miss what is allocated meanwhile.
  bool is_urgent_ = false;          // the tree has grown past the limit, as far as is seen cheaply
  std::int64_t known_private_ = 0;  // what that was when it was found to be within
  std::chrono::steady_clock::time_point check_at_;
  std::chrono::steady_clock::time_point look_until_;
};

}  // namespace sbx
