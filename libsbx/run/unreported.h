// SPDX-License-Identifier: Apache-2.0
// Refusals that no layer tells of: what was withheld before the command began, and what its text
// and what it printed show.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/denial.h"
#include "model/outcome.h"
#include "model/request.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "run/sandbox.h"

namespace sbx {

struct RunAsSeen {
  const Request& request;
  const Policy& policy;
  const Environment& environment;  // the command's, before its own variables
  const std::string& home;
  const Sandbox& sandbox;
  const Outcome& outcome;
  bool reports_execs;  // of denied programs: they are in `denials` by now
};

// What a failure is looked for in: stderr, and where all of it went elsewhere (merged, or by
// `2>&1`) what else a command that failed has printed.
const std::string& complaints(const Outcome& outcome);

std::vector<Denial> unreported_refusals(const RunAsSeen& run);

// A limit that a program met as an error of a call, with the grant that doubles it: kOpenFiles,
// kFile or kTmp. Of open files, where more were `asked` for, the grant of so many.
Denial met_limit(Limit limit, const SandboxPolicy& sandbox, std::int64_t asked = 0);

// Those of them that the kernel holds and that a program says, in what was `printed` to stderr, it
// has met: the kernel tells of the first two nobody but the process that met it, and temporary
// files that are full now and then may not be when they are looked at.
std::vector<Limit> printed_limits(const std::vector<LimitReport>& limits, std::string_view printed);

}  // namespace sbx
