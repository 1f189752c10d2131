// SPDX-License-Identifier: Apache-2.0
// Outcomes for the tests of report/: a full one and an empty one of each status, then the odd ones.
#include "sample_outcomes.h"

#include <csignal>

namespace sbx {
namespace {

Outcome full_outcome(RunStatus status) {
  Outcome outcome;
  outcome.status = status;
  outcome.exit_code = 7;
  outcome.signal = SIGSEGV;
  outcome.out = {"out\n", 4, false, false};
  outcome.err = {"/w==", 1'000'000, true, true};
  outcome.command = "echo \"hi\"; false";
  outcome.argv = {"bash", "-c", "echo \"hi\"; false"};
  outcome.cwd = "/work space";
  outcome.description = "says hi";
  outcome.started_at_ms = 1'769'860'800'123;
  outcome.duration_ms = 3.16;
  outcome.usage = {1.04, 1.06, 3400};
  outcome.limit = Limit::kMemory;
  outcome.denials = {{Refuser::kSeccomp, "mount", "", 3, "mount", "seccomp.allow += \"mount\""},
                     {Refuser::kNetwork, "connect", "10.0.0.1:80", 1, "curl", ""}};
  outcome.sandbox.profile = "default";
  for (int i = 0; i < kLayerCount; ++i) outcome.sandbox.confirmed.add(static_cast<Layer>(i));
  outcome.sandbox.landlock_abi = 7;
  outcome.sandbox.limits = {{Limit::kMemory, Enforcer::kCgroup},
                            {Limit::kPids, Enforcer::kRlimit},
                            {Limit::kTimeout, Enforcer::kWatch},
                            {Limit::kLayer, Enforcer::kWatch}};
  outcome.sandbox.degraded = {{"cgroup", "EPERM: Operation not permitted"}};
  outcome.sandbox.warnings = {"something to know"};
  outcome.changes = {{"src/a.c", "modified"}, {"b", "created"}};
  outcome.error = Error{ErrorCode::kSetupFailed, "mount(/x): EPERM", "mount", "try again", 1};
  return outcome;
}

}  // namespace

std::vector<Outcome> sample_outcomes() {
  std::vector<Outcome> samples;
  for (int i = 0; i <= static_cast<int>(RunStatus::kError); ++i) {
    const auto status = static_cast<RunStatus>(i);
    samples.push_back(full_outcome(status));
    samples.emplace_back();
    samples.back().status = status;
  }
  Outcome hostile = full_outcome(RunStatus::kExited);
  hostile.out.text = std::string("\0\x1b[2J\x7f\xff\"\\\n\xC2\x9B\xE2\x80\xA8", 15);
  hostile.command = hostile.cwd = "\xED\xA0\x80";
  hostile.error->where.clear();
  hostile.error->hint.clear();
  hostile.changes->clear();
  samples.push_back(hostile);
  for (const int signal : {SIGKILL, SIGRTMIN, SIGRTMIN + 5, SIGRTMAX, 32}) {
    samples.push_back(full_outcome(RunStatus::kSignaled));
    samples.back().signal = signal;
  }
  return samples;
}

}  // namespace sbx
