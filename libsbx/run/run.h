// SPDX-License-Identifier: Apache-2.0
// One run, whole: (Policy, Request) → plan → supervised command → Outcome. Falls back to a weaker
// tier only where the policy allows it, and says so.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/facts.h"
#include "model/exit_status.h"
#include "model/outcome.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "run/supervisor.h"

namespace sbx {

class Approvals;
class WarmPool;

struct RunInput {
  const Policy& policy;
  const Request& request;
  HostFacts facts;        // quick facts
  Environment inherited;  // the caller's environment
  OutputMode mode = OutputMode::kCapture;
  bool merge = false;
  int stdin_fd = -1;
  int signal_fd = -1;
  int owner_pidfd = -1;
  unsigned pty_rows = 24;
  unsigned pty_columns = 80;
  WarmPool* warm = nullptr;        // sandboxes made ready in advance; null: none
  bool is_alone = true;            // no other run and no other child in this process
  bool tells_begin = false;        // has_begun() is asked for
  Approvals* approvals = nullptr;  // what the operator has granted; null: nothing
  // Asks a person about a request that needs approval; null: there is none. True only for a yes.
  std::function<bool(const Approval&)> ask_person{};
  // What the command writes, redacted, as soon as nothing in it can still turn out to be a secret.
  std::function<void(OutputChannel, std::string_view)> on_output{};
};

// One run. A process that ends right after it does so while this lives: freeing what was made
// before the clone would first copy the pages that were shared with PID 1.
class CommandRun {
 public:
  using Clock = std::chrono::steady_clock;

  // What `input` refers to must live as long as this.
  explicit CommandRun(RunInput input);
  ~CommandRun();
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  // Once, to the end. Never fails otherwise than in the outcome.
  const Outcome& run();

  // Or driven from a loop of the caller's: start(), then step() whenever poll_fd() can be read or
  // deadline() is reached, until is_done(). None of them blocks for longer than a launch takes.
  void start();
  void step();
  int poll_fd() const;  // the same for the whole run; valid after start()
  std::optional<Clock::time_point> deadline() const;
  bool is_done() const;
  const Outcome& outcome() const;  // once done
  pid_t pid() const;               // of the sandbox's PID 1; -1 unless it runs

  // The command's exec has succeeded: said a moment after it has, and until the end is known.
  bool has_begun() const;

  // The tree is killed; status cancelled, or killed. No effect once something else has ended it.
  void cancel();
  // SIGTERM to everything inside, SIGKILL to what is left after `grace`; status killed.
  void terminate(std::chrono::milliseconds grace);
  // While held back the output is not read, so that the command waits for its reader.
  void hold_output(bool hold);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The plan that run_command would execute, for `explain`. Probes the host where the policy may
// have to fall back.
Result<LaunchPlan> plan_command(RunInput& input);

// An outcome that says that nothing was run: status error, or denied where a request wants a
// network that is not granted.
Outcome error_outcome(const Error& error);

}  // namespace sbx
