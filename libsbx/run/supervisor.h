// SPDX-License-Identifier: Apache-2.0
// The supervisor of one run: one thread, one epoll set over PID 1's pidfd, the control socket, the
// output pipes, signals, the caller's pidfd, the terminal and the seccomp listener. It starts the
// plan, waits, and says how it ended; it decides nothing about policy. It is driven from outside,
// so that one thread can supervise many.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/spawn.h"
#include "output/stream.h"
#include "plan/plan.h"
#include "run/watch.h"
#include "trace/refusals.h"

namespace sbx {

enum class OutputMode : std::uint8_t {
  kCapture,  // pipes, kept as head and tail
  kPass,     // the caller's own descriptors 0, 1, 2
  kTerminal  // a pty inside, relayed to the caller's terminal
};

class RunNetwork;

struct SuperviseInput {
  const LaunchPlan& plan;
  const Policy& policy;
  DenialLedger& denials;  // of this run: whatever is refused is counted here
  OutputMode mode = OutputMode::kCapture;
  bool merge = false;
  int stdin_fd = -1;  // kCapture: what becomes 0; -1: /dev/null
  CaptureLimits capture{};
  RedactionInput redaction{};
  bool find_result = false;
  std::optional<std::int64_t> timeout_ms{};
  WatchLimits watch{};
  int cgroup_fd = -1;
  int signal_fd = -1;    // signalfd of INT, QUIT, TERM, HUP (and WINCH with a terminal); -1: none
  int owner_pidfd = -1;  // everything ends with this process; -1: none
  int epoll_fd = -1;     // the epoll set, empty
  RunNetwork* network = nullptr;     // of this run alone; null: connects are not mediated
  std::optional<Spawned> waiting{};  // of a plan that awaits its command
  // This process has no other children: without a pid namespace it becomes a subreaper, and ends
  // what a killed PID 1 left behind.
  bool is_alone = true;
  bool tells_begin = false;  // has_begun() is asked for
  // The run ends when PID 1 says that nothing else is left; leave() follows, and the destructor
  // waits for the rest.
  bool may_leave = false;
  std::function<void(OutputChannel, std::string_view)> on_output{};
};

// What ended a run. The first one to happen stands.
enum class Cause : std::uint8_t {
  kNone,
  kEnded,
  kTimedOut,
  kLimit,
  kCancelled,
  kOwnerGone,
  kKilled,
};

// The operation of a denial: the host uncovered a path, and PID 1 ended the run for it.
inline constexpr const char* kMaskLostRunEnded = "mask_lost_run_ended";

struct Supervised {
  Cause cause = Cause::kNone;
  std::string limit;        // with kLimit
  int cancel_signal = 0;    // with kCancelled
  bool has_status = false;  // the command was started and its end was seen
  int wait_status = 0;
  struct rusage usage {};
  struct rusage tree_usage {};
  std::uint32_t confirmed = 0;
  bool was_lost = false;         // somebody else ended it before it got to the command
  std::optional<Error> failure;  // a step failed: the command did not start
  std::uint8_t failed_layer = kNoLayer;
  OutputStream out;
  OutputStream err;
  bool has_reached_pids = false;
  bool has_filled_scratch = false;
  std::vector<OwnedFd> overlays;  // upper directories, in the order of plan.overlays

  Supervised(const CaptureLimits& limits, const RedactionInput& redaction, bool find_result)
      : out(limits, redaction, find_result), err(limits, redaction, false) {}
};

class Supervisor {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Supervisor(SuperviseInput input);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Errors: those of spawn(). Everything that happens later is in the answer.
  Status start();
  // Waits for at most `wait_ms` (-1: until something happens) and handles what has happened.
  void step(int wait_ms);
  std::optional<Clock::time_point> deadline() const;
  bool is_finished() const;
  // Nothing of the command is left; PID 1 itself may be.
  bool is_over() const;
  Supervised& collect();  // once finished

  pid_t pid() const;  // of PID 1; -1 when it does not run
  // The command's exec has succeeded: said a moment after it has.
  bool has_begun() const;
  void cancel(int signal_number);
  void terminate(std::chrono::milliseconds grace);
  void hold_output(bool hold);
  // Once over: everything that the input names may go now; the epoll set's own end takes its
  // members along.
  void leave();
  // After leave(): PID 1, if it is still there, ends by itself from now on.
  void let_go();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sbx
