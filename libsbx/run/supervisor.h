// SPDX-License-Identifier: Apache-2.0
// The supervisor of one run: it starts the plan, turns what the loop tells of it (PID 1's pidfd,
// the control socket, the output pipes, signals, the caller's pidfd, the terminal, the seccomp
// listener) into events of the fold (run/fold.h), and does what that says. It decides nothing about
// policy. It is driven from outside, so that one thread can supervise many.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "launch/spawn.h"
#include "output/stream.h"
#include "plan/plan.h"
#include "run/fold.h"
#include "run/network.h"
#include "run/terminal.h"
#include "run/watch.h"
#include "trace/file_reports.h"
#include "trace/refusals.h"

namespace sbx {

enum class OutputMode : std::uint8_t {
  kCapture,     // pipes, kept as head and tail
  kPass,        // the caller's own descriptors 0, 1, 2
  kTerminal,    // a pty inside, relayed to the caller's terminal
  kOwnTerminal  // a pty inside, whose output is kept; who runs this writes to terminal_fd()
};

// What becomes of a line without a newline once nothing follows, for on_output: it is held back;
// the caller sees of it what is no secret, and it is decided with what follows; or it is decided,
// for a person at a terminal.
enum class Unfinished : std::uint8_t { kHeld, kShown, kDecided };

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
  Loop* loop = nullptr;  // of this run alone
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
  Unfinished unfinished = Unfinished::kHeld;
};

// The operation of a denial: the host uncovered a path, and PID 1 ended the run for it.
inline constexpr const char* kMaskLostRunEnded = "mask_lost_run_ended";
// And what must not come to be was made again and again, or could not be taken away.
inline constexpr const char* kMadeAgainRunEnded = "protected_created_run_ended";

struct Supervised {
  Ending ending;  // as far as it is known here
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
  // Waits for at most `longest` milliseconds (-1: until something happens) and handles what has
  // happened.
  void step(int longest);
  std::optional<Clock::time_point> deadline() const;
  bool is_finished() const { return state_.is_finished(); }
  // Nothing of the command is left; PID 1 itself may be.
  bool is_over() const { return state_.is_over(); }
  Supervised& collect();  // once finished
  const Supervised& so_far() const { return result_; }

  // Of PID 1; -1 when it does not run.
  pid_t pid() const { return spawned_ && !state_.is_init_gone ? spawned_->pid : -1; }
  // Bits of the layers that the kernel has confirmed so far.
  std::uint32_t confirmed() const { return spawned_ ? spawned_->state->confirmed.load() : 0; }
  // The command's exec has succeeded: said a moment after it has.
  bool has_begun() const { return has_begun_; }
  void cancel(int signal_number);
  void terminate(std::chrono::milliseconds grace);
  void hold_output(bool hold);
  // While it rests no output is read; the end of the command ends that.
  void rest(bool on);
  // kOwnTerminal: the master, which does not block, from the moment at which there is one; else -1.
  int terminal_fd() const { return master_.get(); }
  // Once over, and after the loop was closed: everything that the input names may go now.
  void leave();
  // After leave(): PID 1, if it is still there, ends by itself from now on.
  void let_go() { spawned_->lifeline.reset(); }
  // It has ended: the destructor waits for nothing.
  bool has_left() const;

 private:
  struct Standard;
  struct Channel {
    OwnedFd fd;
    Loop::Watch watch;
    Loop::Timer pause;
    Clock::time_point small_read_at;
    int small_reads = 0;  // one soon after the other
    void close() {
      pause.stop();
      watch.stop();
      fd.reset();
    }
  };

  Status make_standard(Standard& standard);
  Status watch_own();
  Status watch_child(const Standard& standard);
  Status watch(Loop::Watch& watch, int fd, void (Supervisor::*handle)());
  Status watch(Channel& channel, OutputStream& stream);
  void give_up(Error error);
  void end_tree();
  void kill_tree();
  void reap();
  void end_strays() const;

  void feed(RunEvent event, Clock::time_point now = Clock::now());
  void carry_out(const RunActions& actions);
  void look();
  void settle();
  bool has_output() const;

  void take_descriptors();
  void take(Received& report);
  void take_signal();
  void take_owner_end();
  void answer_refused();
  void note_init_end();
  void drain(Channel& channel, OutputStream& stream);
  void pause_after_small_reads(Channel& channel);
  bool watch_reports(int fd, bool on);
  void add_losses() const;
  void take_terminal(OwnedFd master);

  SuperviseInput input_;
  Supervised result_;
  RunState state_;
  bool has_begun_ = false;
  std::optional<Spawned> spawned_;
  std::optional<TreeWatch> tree_;
  Refusals refusals_;
  OwnedFd master_;
  bool is_resting_ = false;
  std::optional<Clock::time_point> rests_at_;  // if nothing comes until then
  // What is watched goes after its handle.
  Channel out_;
  Channel err_;
  struct {
    Loop::Watch init, control, signals, owner, listener, reports;
  } watches_;
  FileReports file_reports_;
  std::optional<Terminal> terminal_;
};

}  // namespace sbx
