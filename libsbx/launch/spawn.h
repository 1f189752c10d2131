// SPDX-License-Identifier: Apache-2.0
// LaunchPlan → a running child: one clone3, the list walked inside, PID 1 left behind. The caller
// keeps the plan alive and unchanged until the child has ended, and drives everything else from
// its own loop. Not thread-safe against other forks of the same process.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "plan/plan.h"

namespace sbx {

// Sent to PID 1 from outside: SIGTERM to everything else inside.
inline constexpr int kAskToEnd = SIGUSR1;

// A placement that the host uncovered, and what was done about it.
struct Loss {
  enum class End : std::uint32_t { kRestored, kReported, kRunEnded, kTakenAway, kMadeAgain };
  std::uint32_t step;  // index of its op::Guard
  End end;
  std::uint64_t count;
};
inline constexpr std::uint32_t kMaxLosses = 64;

// What the child and PID 1 write and the supervisor reads: one shared page, no pointers. The
// command itself never has it: exec replaces its memory.
struct SharedState {
  std::atomic<std::uint32_t> failed_step;  // 1 + index of the operation that failed; 0: none
  std::atomic<std::int32_t> failed_errno;
  std::atomic<std::uint32_t> confirmed;    // bits by Layer
  std::atomic<std::uint32_t> executed;     // 1 from the attempt to exec on, unless it fails
  std::atomic<std::uint32_t> tells_begin;  // 1: PID 1 sends kBegun. Set before the command is due
  std::atomic<std::uint32_t> ended;        // 1 once wait_status and usage below are valid
  std::int32_t wait_status;
  struct rusage usage;  // of the command and what it waited for
  // 1 once PID 1 alone is left of its pid namespace, and all_usage below holds what all others
  // used.
  std::atomic<std::uint32_t> is_empty;
  std::atomic<std::uint32_t> reached_pids;  // 1: no other process could be made at the end
  struct rusage all_usage;
  std::atomic<std::uint32_t>
      loss_count;  // placements that the host uncovered; then those in losses
  Loss losses[kMaxLosses];
  char detail[512];  // what a failed step found in the way
};

struct CommandSlot;

// What the supervisor may ask PID 1 for over the control socket: a socket made in the sandbox's
// network namespace, answered (ReportTag::kAnswer) in the order of the requests; or kContinue.
struct InsideRequest {
  enum class Kind : std::uint8_t {
    kListen,      // TCP, bound to `address` and `port`
    kStream,      // TCP, unconnected
    kDns,         // UDP, bound to port 53 of every IPv4 address
    kSocketDiag,  // NETLINK_SOCK_DIAG, which lists what is in its namespace
    kContinue,    // the command goes on after kStopped; nothing is answered
  };
  Kind kind = Kind::kListen;
  bool is_v6 = false;
  std::uint16_t port = 0;         // host order
  std::uint8_t address[16] = {};  // network order; an IPv4 address is the first four
};

// Sends a request; never blocks. Returns 0 or an errno.
int ask_inside(int control, const InsideRequest& request);

// What PID 1 does once the command has been forked. Never returns.
using Keeper = void (*)(ChildContext& context, pid_t command) noexcept;
// Reaps until the command ends, stores how, ends; with it everything in its pid namespace. Without
// a pid namespace it kills every descendant first.
void run_init(ChildContext& context, pid_t command) noexcept;

struct SpawnRequest {
  const LaunchPlan& plan;
  // Become 0, 1, 2 of the command; the child's copies, the caller closes its own. Not looked at
  // where the plan passes through.
  int stdin_fd;
  int stdout_fd;
  int stderr_fd;
  int cgroup_fd = -1;        // CLONE_INTO_CGROUP
  bool tells_begin = false;  // kBegun is wanted
  bool use_clone3 = true;
  Keeper keeper = run_init;
  void* own = nullptr;  // what the plan's own operations keep from one step to a later one
};

struct Spawned {
  pid_t pid = -1;  // of PID 1, in the caller's pid namespace
  OwnedFd pidfd;
  // SOCK_SEQPACKET: descriptors with their ReportTag, answers to requests, then end of file.
  OwnedFd control;
  OwnedFd lifeline;              // closed by the caller's death: PID 1 ends with it
  SharedState* state = nullptr;  // mapped as long as this lives, and the slot with it
  CommandSlot* slot = nullptr;   // of a plan that awaits its command

  Spawned() = default;
  Spawned(Spawned&&) noexcept;
  Spawned& operator=(Spawned&&) = delete;
  ~Spawned();
};

// Errors: kLayerUnavailable when the clone itself is refused (sys_errno says how), kSetupFailed for
// want of descriptors or memory. A step that fails later is in `state`.
Result<Spawned> spawn(const SpawnRequest& request);

inline constexpr int kLongestEndMs = 1000;

// Waits for a PID 1 that has been killed, at most as long as is said: where its tree hangs in a
// file system that does not answer, it is reaped when a later one is.
void reap_killed(Spawned& spawned, int longest_ms, struct rusage* usage);

// The descriptors that the child hands out. Empty with errno 0 at end of file, EAGAIN when nothing
// waits, or what went wrong.
struct Received {
  ReportTag tag;
  OwnedFd fd;
  int error = 0;  // with kAnswer, where there is no descriptor
};
std::vector<Received> receive_reports(int control);

// The error for a failed step: which operation with which arguments, why, and what would mend it.
Error step_error(const LaunchPlan& plan, const SharedState& state);

}  // namespace sbx
