// SPDX-License-Identifier: Apache-2.0
// The life of one run as a pure fold: (RunState, RunEvent) → RunState and what is to be done; and
// the one table of causes: which of them stands when several end a run, and what is said of it. No
// I/O, and no clock: the time comes with the event.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "model/outcome.h"

namespace sbx {

// What ended a run.
enum class Cause : std::uint8_t {
  kNone,  // nobody has told; at the end: PID 1 was ended from outside before it could
  kEnded,
  kTimedOut,
  kLimit,
  kCancelled,
  kOwnerGone,
  kKilled,
};

struct RunEvent {
  enum class Kind : std::uint8_t {
    kTime,       // nothing but the time has come on
    kTold,       // PID 1 has begun to end: see `has_status`, `is_alone`
    kInitGone,   // PID 1 was reaped: see `has_status`
    kSignal,     // a signal asks sbx-run to end: `number`
    kTerminate,  // the caller asks everything inside to end within `grace`
    kNotAsked,   // … which nobody inside could be told
    kLooked,     // the tree was looked at: `limit`, where one is exceeded; `next_look`
    kOwnerGone,
    kOutput,  // whether something may still come of what the command wrote: `on`
    kHold,    // the output is held back, or no longer: `on`
    kBroken,  // what the loop needs has failed, and everything was ended without it
  };
  using Time = std::chrono::steady_clock::time_point;

  Kind kind = Kind::kTime;
  Time now{};
  bool has_status = false;  // the command's end was seen
  bool is_alone = false;    // nothing of the command is left but PID 1
  bool on = false;
  int number = 0;
  std::chrono::milliseconds grace{};
  std::optional<Limit> limit{};
  Time next_look{};
};

struct RunState {
  using Time = RunEvent::Time;

  // --- what it begins with ---
  std::optional<Time> deadline;   // of the whole run
  std::optional<Time> next_look;  // at the tree, for limits that the kernel does not hold
  bool may_leave = false;         // it is over before PID 1 has gone

  // --- what has come of it ---
  Cause cause = Cause::kNone;
  std::optional<Limit> limit;  // with kLimit
  int cancel_signal = 0;       // with kCancelled
  bool is_killed = false;
  bool is_init_gone = false;
  bool is_left = false;  // PID 1 stays, alone
  bool is_held = false;
  bool has_output = true;
  bool is_drained = false;  // what had not come by then is not waited for
  std::optional<Time> kill_at;
  std::optional<Time> drain_until;

  // Nothing of the command is left; PID 1 itself may be.
  bool is_over() const { return is_init_gone || is_left; }
  bool is_finished() const { return is_drained || (is_over() && !has_output); }
  // When kTime is due.
  std::optional<Time> next_time() const;
};

// To be done, in this order.
struct RunActions {
  bool detach = false;      // PID 1 can be asked for nothing more
  bool kill = false;        // everything inside ends at once
  bool ask_to_end = false;  // SIGTERM to everything inside; kNotAsked where that fails
  bool end_strays = false;  // what PID 1 of no namespace left behind
  bool let_init_go = false;
  bool look = false;  // at the tree; kLooked follows
};

RunActions fold(RunState& state, const RunEvent& event);

// What is known of a run that has finished.
struct Ending {
  Cause cause = Cause::kNone;
  std::optional<Limit> limit;      // RunState's
  int cancel_signal = 0;           // RunState's
  std::optional<int> wait_status;  // nullopt: nobody saw the command's end
  bool holds_cpu = false;          // these limits are ours
  bool holds_file_size = false;
  bool ran_out_of_memory = false;  // the kernel ended something for it
  std::optional<Limit> reached;    // a limit that a program met as an error of a call
};

// What is said of it.
struct EndReport {
  RunStatus status = RunStatus::kKilled;
  std::optional<Limit> limit;
  std::optional<int> exit_code;
  int signal = 0;
  int exit_status = 125;  // sbx-run's own
};
EndReport report_end(const Ending& ending);

}  // namespace sbx
