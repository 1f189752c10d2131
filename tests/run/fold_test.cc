// SPDX-License-Identifier: Apache-2.0
// The fold by itself: rows of events, and what has come of them. Nothing runs, and no time passes.
#include "run/fold.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

namespace sbx {
namespace {

using namespace std::chrono_literals;
using Kind = RunEvent::Kind;

constexpr int exited(int code) { return code << 8; }

RunEvent::Time at(std::chrono::milliseconds time) { return RunEvent::Time(time); }

// A run in the middle, and everything that was to be done.
struct Life {
  RunState state;
  std::string done;

  void take(RunEvent event, std::chrono::milliseconds when = 0ms) {
    event.now = at(when);
    const RunActions todo = fold(state, event);
    if (todo.detach) done += "detach ";
    if (todo.kill) done += "kill ";
    if (todo.ask_to_end) done += "ask ";
    if (todo.end_strays) done += "strays ";
    if (todo.let_init_go) done += "let_go ";
    if (todo.look) done += "look ";
  }
};

const RunEvent kTold{.kind = Kind::kTold, .has_status = true};
const RunEvent kToldAlone{.kind = Kind::kTold, .has_status = true, .is_alone = true};
const RunEvent kToldNothing{.kind = Kind::kTold};
const RunEvent kGone{.kind = Kind::kInitGone};
const RunEvent kGoneWithStatus{.kind = Kind::kInitGone, .has_status = true};
const RunEvent kNoOutput{.kind = Kind::kOutput};
const RunEvent kTime{};
const RunEvent kSigint{.kind = Kind::kSignal, .number = SIGINT};
const RunEvent kOwner{.kind = Kind::kOwnerGone};
const RunEvent kTerminate{.kind = Kind::kTerminate, .grace = 500ms};
const RunEvent kHold{.kind = Kind::kHold, .on = true};
const RunEvent kRelease{.kind = Kind::kHold};
const RunEvent kNotAsked{.kind = Kind::kNotAsked};
const RunEvent kBroken{.kind = Kind::kBroken};

RunEvent looked(std::optional<Limit> limit) {
  return {.kind = Kind::kLooked, .limit = limit, .next_look = at(1h)};
}

// --- which cause stands ---

struct CauseCase {
  const char* name;
  RunEvent event;
  Cause cause;
  const char* done;  // where nothing stands yet
};

const std::vector<CauseCase>& causes() {
  static const std::vector<CauseCase> rows = {
      {"the command ends", kTold, Cause::kEnded, "let_go "},
      {"the time is up", kTime, Cause::kTimedOut, "kill "},
      {"a limit is exceeded", looked(Limit::kMemory), Cause::kLimit, "kill "},
      {"a signal", kSigint, Cause::kCancelled, "kill "},
      {"the owner ends", kOwner, Cause::kOwnerGone, "kill "},
      {"the caller asks it to end", kTerminate, Cause::kKilled, "ask "},
  };
  return rows;
}

Life beginning() {
  Life life;
  life.state.deadline = at(0ms);
  return life;
}

TEST(Fold, EachCauseStandsAndIsActedUpon) {
  for (const CauseCase& row : causes()) {
    Life life = beginning();
    life.take(row.event);
    EXPECT_EQ(life.state.cause, row.cause) << row.name;
    EXPECT_EQ(life.done, row.done) << row.name;
  }
}

TEST(Fold, OfTwoCausesTheFirstStandsInBothOrders) {
  for (const CauseCase& first : causes()) {
    for (const CauseCase& second : causes()) {
      Life life = beginning();
      life.take(first.event);
      life.take(second.event);
      EXPECT_EQ(life.state.cause, first.cause) << first.name << ", then " << second.name;
      const bool is_limit = first.cause == Cause::kLimit;
      EXPECT_EQ(life.state.limit, is_limit ? std::optional(Limit::kMemory) : std::nullopt)
          << second.name;
      const bool is_signal = first.cause == Cause::kCancelled;
      EXPECT_EQ(life.state.cancel_signal, is_signal ? SIGINT : 0) << second.name;
    }
  }
}

TEST(Fold, TheEndOfPidOneThatToldNothingMakesRoomForACause) {
  for (const CauseCase& row : causes()) {
    if (row.cause == Cause::kTimedOut || row.cause == Cause::kKilled)
      continue;  // too late for them
    for (const RunEvent& silent : {kToldNothing, kGone}) {
      Life life = beginning();
      life.take(silent);
      EXPECT_EQ(life.state.cause, Cause::kNone);
      life.take(row.event);
      EXPECT_EQ(life.state.cause, row.cause) << row.name;
    }
  }
}

TEST(Fold, NoCauseIsActedUponOnceTheCommandHasEnded) {
  for (const CauseCase& row : causes()) {
    if (row.cause == Cause::kEnded) continue;
    Life life = beginning();
    life.take(kTold);
    life.done.clear();
    life.take(row.event);
    EXPECT_EQ(life.done, "") << row.name;
  }
}

// --- what is to be done ---

TEST(Fold, ASignalDuringTheGraceKillsAtOnce) {
  Life life;
  life.take(kTerminate);
  life.take(kSigint);
  EXPECT_EQ(life.done, "ask kill ");
  EXPECT_EQ(life.state.cause, Cause::kKilled);
}

TEST(Fold, TheGraceEndsInAKillAndCanOnlyBeShortened) {
  Life life;
  life.take(kTerminate);
  EXPECT_EQ(life.state.next_time(), at(500ms));
  life.take({.kind = Kind::kTerminate, .grace = 1h}, 1ms);
  EXPECT_EQ(life.state.next_time(), at(500ms));
  life.take({.kind = Kind::kTerminate, .grace = 9ms}, 1ms);
  EXPECT_EQ(life.state.next_time(), at(10ms));
  life.take(kTime, 9ms);
  EXPECT_EQ(life.done, "ask ");
  life.take(kTime, 10ms);
  EXPECT_EQ(life.done, "ask kill ");
}

TEST(Fold, WhoCannotBeAskedIsKilled) {
  Life life;
  life.take(kTerminate);
  life.take(kNotAsked);
  EXPECT_EQ(life.done, "ask kill ");
}

TEST(Fold, NothingIsKilledTwice) {
  Life life;
  life.take(kOwner);
  life.take(kNotAsked);
  life.take(kSigint);
  EXPECT_EQ(life.done, "kill ");
}

TEST(Fold, ATimeLimitThatHasPassedDuringTheGraceIsNotWaitedForAgain) {
  Life life = beginning();
  life.state.deadline = at(100ms);
  life.take(kTerminate);
  life.take(kTime, 200ms);
  EXPECT_EQ(life.state.next_time(), at(500ms));
}

TEST(Fold, LooksAtTheTreeWhenALookIsDueAndNoMoreOnceItIsKilled) {
  Life life;
  life.state.next_look = at(25ms);
  life.take(kTime, 24ms);
  EXPECT_EQ(life.done, "");
  life.take(kTime, 25ms);
  EXPECT_EQ(life.done, "look ");
  life.take(looked(std::nullopt), 25ms);
  EXPECT_EQ(life.state.next_time(), at(1h));
  life.take(kOwner, 26ms);
  life.take(kTime, 1h);
  EXPECT_EQ(life.done, "look kill ");
}

TEST(Fold, PidOneOfNoNamespaceLeavesStraysBehind) {
  Life life;
  life.take(kGoneWithStatus);
  EXPECT_EQ(life.done, "detach strays let_go ");
  EXPECT_EQ(life.state.cause, Cause::kEnded);
  life.take(kGoneWithStatus);
  EXPECT_EQ(life.done, "detach strays let_go ");
}

// --- when it is finished ---

TEST(Fold, IsFinishedWhenPidOneHasGoneAndItsOutputHasEndedInEitherOrder) {
  for (const bool output_first : {false, true}) {
    Life life;
    life.take(output_first ? kNoOutput : kGoneWithStatus);
    EXPECT_FALSE(life.state.is_finished());
    life.take(output_first ? kGoneWithStatus : kNoOutput);
    EXPECT_TRUE(life.state.is_finished());
  }
}

TEST(Fold, APipeThatStaysOpenIsWaitedForTwoSeconds) {
  Life life;
  life.take(kTold, 1s);
  life.take(kGoneWithStatus, 2s);
  EXPECT_EQ(life.state.next_time(), at(3s));  // from the first word of the end
  life.take(kTime, 2999ms);
  EXPECT_FALSE(life.state.is_finished());
  life.take(kTime, 3s);
  EXPECT_TRUE(life.state.is_finished());
}

TEST(Fold, WhatIsHeldBackIsWaitedForUntilTwoSecondsAfterItIsReleased) {
  Life life;
  life.take(kHold);
  life.take(kGoneWithStatus, 1s);
  EXPECT_EQ(life.state.next_time(), std::nullopt);
  life.take(kTime, 1h);
  EXPECT_FALSE(life.state.is_finished());
  life.take(kRelease, 1h);
  EXPECT_EQ(life.state.next_time(), at(1h + 2s));
}

TEST(Fold, MayBeOverWhilePidOneStays) {
  Life life;
  life.state.may_leave = true;
  life.take(kToldAlone);
  EXPECT_TRUE(life.state.is_over());
  EXPECT_EQ(life.done, "detach ");  // and PID 1 is not let go
  life.take(kNoOutput);
  EXPECT_TRUE(life.state.is_finished());
  EXPECT_FALSE(life.state.is_init_gone);
}

TEST(Fold, StaysUntilPidOneHasGoneWhereItIsNotAloneOrNobodyWouldWaitForIt) {
  for (const bool may_leave : {false, true}) {
    Life life;
    life.state.may_leave = may_leave;
    life.take(may_leave ? kTold : kToldAlone);
    life.take(kNoOutput);
    EXPECT_FALSE(life.state.is_finished());
    EXPECT_EQ(life.done, "let_go ");
  }
}

TEST(Fold, ABrokenLoopEndsTheRunWhateverStands) {
  for (const CauseCase& row : causes()) {
    Life life = beginning();
    life.take(row.event);
    life.done.clear();
    life.take(kBroken);
    EXPECT_TRUE(life.state.is_finished()) << row.name;
    EXPECT_EQ(life.state.cause, row.cause);
    life.take(kSigint);
    EXPECT_EQ(life.done, "");
  }
}

// --- what is said of it ---

struct EndCase {
  const char* name;
  Ending ending;
  RunStatus status;
  int exit_status;
  std::optional<int> exit_code{};
  int signal = 0;
  std::optional<Limit> limit{};
};

Ending ended(int wait_status) {
  Ending out;
  out.cause = Cause::kEnded;
  out.wait_status = wait_status;
  return out;
}

Ending by(Cause cause, std::optional<int> wait_status = SIGKILL) {
  Ending out;
  out.cause = cause;
  out.wait_status = wait_status;
  if (cause == Cause::kLimit) out.limit = Limit::kPids;
  if (cause == Cause::kCancelled) out.cancel_signal = SIGINT;
  return out;
}

Ending with(Ending ending, void (*change)(Ending&)) {
  change(ending);
  return ending;
}

void reach_disk(Ending& ending) { ending.reached = Limit::kTmp; }
void run_out_of_memory(Ending& ending) { ending.ran_out_of_memory = true; }
void hold_cpu(Ending& ending) { ending.holds_cpu = true; }
void hold_file_size(Ending& ending) { ending.holds_file_size = true; }

const std::vector<EndCase>& ends() {
  using S = RunStatus;
  static const std::vector<EndCase> rows = {
      {"exit 0", ended(exited(0)), S::kExited, 0, 0},
      {"exit 3", ended(exited(3)), S::kExited, 3, 3},
      {"exit 0 with a full disk", with(ended(exited(0)), reach_disk), S::kExited, 0, 0, 0,
       Limit::kTmp},
      {"exit 1 with a full disk",
       with(ended(exited(1)), reach_disk),
       S::kLimit,
       1,
       {},
       0,
       Limit::kTmp},
      {"exit 1 after a kill for memory", with(ended(exited(1)), run_out_of_memory), S::kExited, 1,
       1},
      {"a signal", ended(SIGSEGV), S::kSignaled, 139, {}, SIGSEGV},
      {"a signal for memory",
       with(ended(SIGKILL), run_out_of_memory),
       S::kLimit,
       137,
       {},
       0,
       Limit::kMemory},
      {"SIGXCPU of our limit",
       with(ended(SIGXCPU), hold_cpu),
       S::kLimit,
       128 + SIGXCPU,
       {},
       0,
       Limit::kCpu},
      {"SIGXCPU of another's", ended(SIGXCPU), S::kSignaled, 128 + SIGXCPU, {}, SIGXCPU},
      {"SIGXFSZ of our limit",
       with(ended(SIGXFSZ), hold_file_size),
       S::kLimit,
       128 + SIGXFSZ,
       {},
       0,
       Limit::kFile},
      {"SIGXFSZ of another's", ended(SIGXFSZ), S::kSignaled, 128 + SIGXFSZ, {}, SIGXFSZ},
      {"a program of a shell's, of our limit",
       with(by(Cause::kEnded, exited(128 + SIGXFSZ)), hold_file_size),
       S::kLimit,
       128 + SIGXFSZ,
       {},
       0,
       Limit::kFile},
      {"that exit of another's", by(Cause::kEnded, exited(128 + SIGXFSZ)), S::kExited,
       128 + SIGXFSZ, 128 + SIGXFSZ},
      {"time", by(Cause::kTimedOut), S::kTimedOut, 124},
      {"time, with an exit in the last moment", by(Cause::kTimedOut, exited(0)), S::kTimedOut, 124},
      {"time, and memory", with(by(Cause::kTimedOut), run_out_of_memory), S::kTimedOut, 124},
      {"a limit", by(Cause::kLimit), S::kLimit, 137, {}, 0, Limit::kPids},
      {"a limit, with an exit", by(Cause::kLimit, exited(0)), S::kLimit, 137, {}, 0, Limit::kPids},
      {"a limit, with another signal",
       by(Cause::kLimit, SIGABRT),
       S::kLimit,
       134,
       {},
       0,
       Limit::kPids},
      {"cancelled", by(Cause::kCancelled), S::kCancelled, 130},
      {"cancelled, with an exit", by(Cause::kCancelled, exited(0)), S::kCancelled, 130},
      {"cancelled, and memory",
       with(by(Cause::kCancelled), run_out_of_memory),
       S::kLimit,
       137,
       {},
       0,
       Limit::kMemory},
      {"the owner", by(Cause::kOwnerGone), S::kCancelled, 129},
      {"the owner, and memory",
       with(by(Cause::kOwnerGone), run_out_of_memory),
       S::kLimit,
       137,
       {},
       0,
       Limit::kMemory},
      {"killed", by(Cause::kKilled), S::kKilled, 137, {}, SIGKILL},
      {"killed, by SIGTERM already", by(Cause::kKilled, SIGTERM), S::kKilled, 143, {}, SIGTERM},
      {"killed, by an exit of its own", by(Cause::kKilled, exited(7)), S::kKilled, 7, 7, 0},
      {"killed, and memory",
       with(by(Cause::kKilled), run_out_of_memory),
       S::kLimit,
       137,
       {},
       0,
       Limit::kMemory},
      {"PID 1 ended from outside", by(Cause::kNone, std::nullopt), S::kKilled, 137, {}, SIGKILL},
      {"PID 1 ended for memory",
       with(by(Cause::kNone, std::nullopt), run_out_of_memory),
       S::kLimit,
       137,
       {},
       0,
       Limit::kMemory},
  };
  return rows;
}

TEST(Fold, EachEndingIsSaidInOneWay) {
  for (const EndCase& row : ends()) {
    const EndReport said = report_end(row.ending);
    EXPECT_EQ(run_status_name(said.status), run_status_name(row.status)) << row.name;
    EXPECT_EQ(said.exit_status, row.exit_status) << row.name;
    EXPECT_EQ(said.exit_code, row.exit_code) << row.name;
    EXPECT_EQ(said.signal, row.signal) << row.name;
    EXPECT_EQ(said.limit, row.limit) << row.name;
  }
}

}  // namespace
}  // namespace sbx
