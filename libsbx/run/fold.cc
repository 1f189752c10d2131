// SPDX-License-Identifier: Apache-2.0
// Each event's own few lines, and the table of causes.
#include "run/fold.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <iterator>

namespace sbx {
namespace {

// How long pipes may drain after the command has ended, and a kill may take to be seen.
constexpr std::chrono::milliseconds kDrain{2000};

struct CauseRow {
  Cause cause;
  bool may_be_a_limit;  // a limit that was met is named instead, unless the command has exited
  bool is_own_end;      // what is said follows from the command's own end
  RunStatus status;     // where it does not
  int exit_status;      // 0: by the signal that ended it
};
// The first cause to happen stands: nothing but kNone makes room for another.
constexpr CauseRow kCauses[] = {
    {Cause::kNone, true, true, RunStatus::kKilled, 0},
    {Cause::kEnded, true, true, RunStatus::kKilled, 0},
    {Cause::kTimedOut, false, false, RunStatus::kTimedOut, 124},
    {Cause::kLimit, true, false, RunStatus::kLimit, 0},
    {Cause::kCancelled, true, false, RunStatus::kCancelled, 0},
    {Cause::kOwnerGone, true, false, RunStatus::kCancelled, 128 + SIGHUP},
    {Cause::kKilled, true, false, RunStatus::kKilled, 0},
};

constexpr const CauseRow& row_of(Cause cause) { return kCauses[static_cast<std::size_t>(cause)]; }

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < std::size(kCauses); ++i) {
    if (static_cast<std::size_t>(kCauses[i].cause) != i) return false;
  }
  return true;
}
static_assert(is_in_order());

void start_drain(RunState& state, RunState::Time now) {
  if (!state.drain_until) state.drain_until = now + kDrain;
}

void kill(RunState& state, RunState::Time now, RunActions& out) {
  if (state.is_killed || state.is_init_gone) return;
  state.is_killed = true;
  out.kill = true;
  start_drain(state, now);
}

// True where this cause is the one that stands.
bool stand(RunState& state, Cause cause) {
  if (state.cause != Cause::kNone) return false;
  state.cause = cause;
  return true;
}

void end(RunState& state, Cause cause, RunState::Time now, RunActions& out) {
  if (stand(state, cause)) kill(state, now, out);
}

void take_end(RunState& state, const RunEvent& event, RunActions& out) {
  if (event.has_status) stand(state, Cause::kEnded);
  if (event.has_status && event.is_alone && state.may_leave && !state.is_over()) {
    state.is_left = true;
    out.detach = true;
  }
  out.let_init_go = !state.is_left;
  start_drain(state, event.now);
}

void take_reaped(RunState& state, const RunEvent& event, RunActions& out) {
  if (state.is_init_gone) return;
  out.detach = !state.is_left;
  out.end_strays = true;
  state.is_init_gone = true;
  take_end(state, event, out);
}

void take_signal(RunState& state, const RunEvent& event, RunActions& out) {
  if (stand(state, Cause::kCancelled)) {
    state.cancel_signal = event.number;
    kill(state, event.now, out);
  }
  if (state.kill_at) kill(state, event.now, out);  // nobody waits for the grace any more
}

void take_terminate(RunState& state, const RunEvent& event, RunActions& out) {
  const auto until = event.now + event.grace;
  if (state.kill_at) state.kill_at = std::min(*state.kill_at, until);
  if (state.is_init_gone || !stand(state, Cause::kKilled)) return;
  state.kill_at = until;
  out.ask_to_end = true;
}

void take_look(RunState& state, const RunEvent& event, RunActions& out) {
  state.next_look = event.next_look;
  if (!event.limit || !stand(state, Cause::kLimit)) return;
  state.limit = event.limit;
  kill(state, event.now, out);
}

void take_hold(RunState& state, const RunEvent& event) {
  if (state.is_held == event.on) return;
  state.is_held = event.on;
  if (!event.on && state.drain_until) state.drain_until = event.now + kDrain;
}

void take_time(RunState& state, RunState::Time now, RunActions& out) {
  const auto is_due = [now](const auto& time) { return time && now >= *time; };
  if (is_due(state.drain_until) && !state.is_held) state.is_drained = true;
  if (state.is_killed || state.is_over()) return;
  if (is_due(state.kill_at)) kill(state, now, out);
  if (is_due(state.deadline)) {
    state.deadline.reset();
    end(state, Cause::kTimedOut, now, out);
  }
  out.look = !state.is_killed && is_due(state.next_look);
}

void take_broken(RunState& state, RunState::Time now) {
  state.is_killed = true;
  state.is_init_gone = true;
  state.has_output = false;
  start_drain(state, now);
}

// The caller's own limits are none of ours.
std::optional<Limit> limit_behind(const Ending& ending, int signal) {
  if (signal == SIGXCPU && ending.holds_cpu) return Limit::kCpu;
  if (signal == SIGXFSZ && ending.holds_file_size) return Limit::kFile;
  return std::nullopt;
}

// What a program met as an error of a call is its own affair, unless it ended by it.
std::optional<Limit> limit_of(const Ending& ending, int signal) {
  if (ending.limit) return ending.limit;
  if (ending.cause == Cause::kEnded) {  // a signal that somebody sent says nothing
    if (const auto limit = limit_behind(ending, signal)) return limit;
  }
  return ending.ran_out_of_memory ? std::optional(Limit::kMemory) : std::nullopt;
}

EndReport own_end(const Ending& ending, int signal) {
  EndReport out;
  if (ending.wait_status && WIFEXITED(*ending.wait_status)) {
    const int code = WEXITSTATUS(*ending.wait_status);
    constexpr int kBySignal = 128;  // a shell's way to say what ended its program
    out.limit = ending.reached ? ending.reached : limit_behind(ending, code - kBySignal);
    out.exit_status = code;
    out.status = code != 0 && out.limit ? RunStatus::kLimit : RunStatus::kExited;
    if (out.status == RunStatus::kExited) out.exit_code = code;
    return out;
  }
  // PID 1 was ended from outside before it could tell: the kernel's OOM killer or a person.
  out.status = ending.wait_status ? RunStatus::kSignaled : RunStatus::kKilled;
  out.signal = signal;
  out.exit_status = 128 + signal;
  return out;
}

}  // namespace

std::optional<RunState::Time> RunState::next_time() const {
  std::optional<Time> first;
  const auto take = [&first](const std::optional<Time>& time) {
    if (time && (!first || *time < *first)) first = time;
  };
  if (!is_held) take(drain_until);
  if (is_killed || is_over()) return first;
  take(deadline);
  take(next_look);
  take(kill_at);
  return first;
}

RunActions fold(RunState& state, const RunEvent& event) {
  RunActions out;
  switch (event.kind) {
    case RunEvent::Kind::kTime:
      take_time(state, event.now, out);
      break;
    case RunEvent::Kind::kTold:
      take_end(state, event, out);
      break;
    case RunEvent::Kind::kInitGone:
      take_reaped(state, event, out);
      break;
    case RunEvent::Kind::kSignal:
      take_signal(state, event, out);
      break;
    case RunEvent::Kind::kTerminate:
      take_terminate(state, event, out);
      break;
    case RunEvent::Kind::kNotAsked:
      kill(state, event.now, out);
      break;
    case RunEvent::Kind::kLooked:
      take_look(state, event, out);
      break;
    case RunEvent::Kind::kOwnerGone:
      end(state, Cause::kOwnerGone, event.now, out);
      break;
    case RunEvent::Kind::kOutput:
      state.has_output = event.on;
      break;
    case RunEvent::Kind::kHold:
      take_hold(state, event);
      break;
    case RunEvent::Kind::kBroken:
      take_broken(state, event.now);
      break;
  }
  return out;
}

EndReport report_end(const Ending& ending) {
  const CauseRow& row = row_of(ending.cause);
  const bool has_exited = ending.wait_status && WIFEXITED(*ending.wait_status);
  const bool was_signaled = ending.wait_status && WIFSIGNALED(*ending.wait_status);
  const int signal = was_signaled ? WTERMSIG(*ending.wait_status) : SIGKILL;
  EndReport out;
  if (row.may_be_a_limit) {
    out.limit = limit_of(ending, was_signaled ? signal : 0);
    if (out.limit && (ending.cause == Cause::kLimit || !has_exited)) {
      out.status = RunStatus::kLimit;
      out.exit_status = 128 + signal;
      return out;
    }
    out.limit.reset();
  }
  if (row.is_own_end) return own_end(ending, signal);
  out.status = row.status;
  out.exit_status = row.exit_status;
  if (ending.cause == Cause::kCancelled) out.exit_status = 128 + ending.cancel_signal;
  if (ending.cause != Cause::kKilled) return out;
  if (has_exited) {  // asked to end, it did so by itself
    out.exit_code = out.exit_status = WEXITSTATUS(*ending.wait_status);
  } else {
    out.signal = signal;
    out.exit_status = 128 + signal;
  }
  return out;
}

}  // namespace sbx
