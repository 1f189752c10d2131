// SPDX-License-Identifier: Apache-2.0
// One run, whole: (Policy, Request) → plan → supervised command → Outcome. Falls back to a weaker
// tier only where the policy allows it, and says so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/facts.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "session/outcome.h"
#include "session/supervisor.h"

namespace sbx {

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
};

// One run. A process that ends right after it does so while this lives: freeing what was made
// before the clone would first copy the pages that were shared with PID 1.
class CommandRun {
 public:
  explicit CommandRun(RunInput input);
  ~CommandRun();
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;

  // Once. Never fails otherwise than in the outcome.
  const Outcome& run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The plan that run_command would execute, for `explain`. Probes the host where the policy may
// have to fall back.
Result<LaunchPlan> plan_command(RunInput& input);

// An outcome that says that nothing was run.
Outcome error_outcome(const Error& error);

// The exit status for an error that kept the command from starting: 125, 126 or 127.
int error_exit_status(ErrorCode code);

}  // namespace sbx
