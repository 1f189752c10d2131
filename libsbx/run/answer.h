// SPDX-License-Identifier: Apache-2.0
// What came of a run → its Outcome, part by part. Nothing here runs or waits.
#pragma once

#include <string>
#include <vector>

#include "host_files/leftovers.h"
#include "model/outcome.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "run/supervisor.h"

namespace sbx {

// What was to be run, and in what.
void describe(Outcome& outcome, const Policy& policy, const Request& request,
              const LaunchPlan& plan, const std::vector<unsigned>& groups);
// The layers that the kernel has confirmed.
void note_layers(Outcome& outcome, const LaunchPlan& plan, std::uint32_t confirmed);
// What it has written so far.
void note_output(Outcome& outcome, const Policy& policy, const Supervised& supervised);
// What it wrote and what it used.
void take_output(Outcome& outcome, const Policy& policy, Supervised& supervised);
// What happened → status, exit code, signal, limit and sbx-run's own exit status.
void decide(Outcome& outcome, Ending ending);
void decide(Outcome& outcome, const Supervised& supervised, const Leftovers& leftovers);
// Why PID 1 ended the run, where it did.
void name_loss(Outcome& outcome, const std::vector<Denial>& denials);

// Whoever met a limit, or a call that is not there, may have taken it for something else.
Error with_cause(Error error);
// An outcome that says that nothing was run: status error, or denied where a request wants a
// network that is not granted.
Outcome error_outcome(const Error& error);

std::int64_t unix_ms();

}  // namespace sbx
