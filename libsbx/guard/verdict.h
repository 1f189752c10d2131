// SPDX-License-Identifier: Apache-2.0
// Verdict: what the command policy says of one request before it runs. Advice from the text; the
// force is the sandbox's. Values only: no I/O.
#pragma once

#include <string>
#include <vector>

#include "model/finding.h"
#include "policy/policy.h"
#include "shell/reading.h"

namespace sbx {

struct Judgement {
  Verdict verdict = Verdict::kAllow;
  std::vector<Finding> findings;  // strongest first, then by span
  std::vector<Unknown> unknown;
};

// `cwd` is the absolute working directory of the command. Pure and thread-safe.
Judgement judge(const Policy& policy, const Request& request, const std::string& cwd);

}  // namespace sbx
