// SPDX-License-Identifier: Apache-2.0
// The table of causes is the fold's; everything else is copied from where it was found.
#include "run/answer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "model/exit_status.h"
#include "policy/request.h"

namespace sbx {
namespace {

double to_ms(const struct timeval& time) {
  return static_cast<double>(time.tv_sec) * 1000.0 + static_cast<double>(time.tv_usec) / 1000.0;
}

void note_redactions(Outcome& outcome, const OutputStream& output) {
  for (const RuleCount& rule : output.redactions()) {
    outcome.redactions.count += rule.count;
    auto& rules = outcome.redactions.rules;
    if (std::find(rules.begin(), rules.end(), rule.rule) == rules.end()) {
      rules.push_back(rule.rule);
    }
  }
}

bool holds(const Outcome& outcome, Limit limit) {
  const auto& limits = outcome.sandbox.limits;
  return std::any_of(limits.begin(), limits.end(),
                     [&](const LimitReport& report) { return report.limit == limit; });
}

// A limit that a program met as an error of a call: what it did about that is its own affair.
std::optional<Limit> reached(const Supervised& supervised, const Leftovers& leftovers) {
  if (supervised.has_filled_scratch) return Limit::kTmp;
  if (supervised.has_reached_pids || leftovers.ran_out_of_pids()) return Limit::kPids;
  return std::nullopt;
}

StreamText stream(CapturedText text) {
  return StreamText{std::move(text.text), text.bytes, text.truncated, text.base64};
}

}  // namespace

std::int64_t unix_ms() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void describe(Outcome& outcome, const Policy& policy, const Request& request,
              const LaunchPlan& plan, const std::vector<unsigned>& groups) {
  outcome.command = request.command;
  outcome.description = request.description;
  outcome.argv = plan.argv;
  outcome.cwd = plan.cwd;
  outcome.has_http = policy.sandbox.http != nullptr;
  outcome.sandbox.profile = policy.run.name;
  outcome.sandbox.managed = policy.run.managed;
  outcome.sandbox.limits = plan.limits;
  outcome.sandbox.degraded = plan.degraded;
  outcome.sandbox.warnings = plan.warnings;
  outcome.sandbox.groups = groups;
}

void note_layers(Outcome& outcome, const LaunchPlan& plan, std::uint32_t confirmed) {
  for (int i = 0; i < kLayerCount; ++i) {
    if ((confirmed & (1U << i)) != 0) {
      outcome.sandbox.confirmed.add(static_cast<Layer>(i));
    }
  }
  if (outcome.sandbox.confirmed.has(Layer::kLandlock)) {
    outcome.sandbox.landlock_abi = plan.landlock_abi;
  }
}

void note_output(Outcome& outcome, const Policy& policy, const Supervised& supervised) {
  outcome.out = stream(supervised.out.so_far(policy.run.output.exact_bytes));
  outcome.err = stream(supervised.err.so_far(policy.run.output.exact_bytes));
}

void take_output(Outcome& outcome, const Policy& policy, Supervised& supervised) {
  outcome.out = stream(supervised.out.finish(policy.run.output.exact_bytes));
  outcome.err = stream(supervised.err.finish(policy.run.output.exact_bytes));
  if (const ResultLine* result = supervised.out.result()) {
    outcome.result_json = result->json();
    if (result->invalid_lines() > 0) {
      outcome.sandbox.warnings.push_back("result_json: " + std::to_string(result->invalid_lines()) +
                                         " __RESULT__ lines are not valid: " + result->problem());
    }
  }
  note_redactions(outcome, supervised.out);
  note_redactions(outcome, supervised.err);
  outcome.usage = {to_ms(supervised.tree_usage.ru_utime), to_ms(supervised.tree_usage.ru_stime),
                   supervised.usage.ru_maxrss};
}

void decide(Outcome& outcome, Ending ending) {
  ending.holds_cpu = holds(outcome, Limit::kCpu);
  ending.holds_file_size = holds(outcome, Limit::kFile);
  EndReport report = report_end(ending);
  outcome.status = report.status;
  outcome.limit = report.limit;
  outcome.exit_code = report.exit_code;
  outcome.signal = report.signal;
  outcome.exit_status = report.exit_status;
  if (ending.cause == Cause::kOwnerGone && report.status == RunStatus::kCancelled) {
    outcome.error = Error{ErrorCode::kCancelled, "its owner has ended", "", ""};
  }
}

void decide(Outcome& outcome, const Supervised& supervised, const Leftovers& leftovers) {
  Ending ending = supervised.ending;
  ending.ran_out_of_memory = leftovers.ran_out_of_memory();
  ending.reached = reached(supervised, leftovers);
  decide(outcome, ending);
}

void name_loss(Outcome& outcome, const std::vector<Denial>& denials) {
  if (outcome.status != RunStatus::kKilled) return;
  for (const Denial& denial : denials) {
    if (denial.operation == kMaskLostRunEnded) {
      outcome.error = Error{ErrorCode::kPathRefused,
                            "replaced or removed on the host while it was hidden or read-only "
                            "inside: " +
                                denial.target,
                            "/filesystem/replaced",
                            "leave it alone during the run, hide or protect its directory, or set "
                            "filesystem.replaced to restore or report"};
    } else if (denial.operation == kMadeAgainRunEnded) {
      outcome.error =
          Error{ErrorCode::kPathRefused,
                "cannot be kept away, and git on the host would go by it: " + denial.target,
                "/filesystem/replaced", "do not make it, or set filesystem.replaced to report"};
    }
  }
}

Error with_cause(Error error) {
  const bool is_of_files = (error.sys_errno == EMFILE || error.sys_errno == ENFILE) &&
                           error.code != ErrorCode::kNotExecutable;  // the program's own
  if (is_of_files && error.hint.find("open files") == error.hint.npos) {
    error.code = ErrorCode::kSetupFailed;
    error.hint = "raise the limit of open files (ulimit -n)";
  } else if (error.sys_errno == EAGAIN && error.where.starts_with("clone")) {
    error.hint = "raise the limit of processes (ulimit -u)";
  } else if (error.sys_errno == ENOSYS && error.code == ErrorCode::kSetupFailed) {
    error.hint = "a seccomp filter hides that system call, or the kernel is older than 5.13";
  }
  return error;
}

Outcome error_outcome(const Error& error) {
  Outcome outcome;
  outcome.status = RunStatus::kError;
  outcome.error = with_cause(error);
  outcome.started_at_ms = unix_ms();
  outcome.exit_status = error_exit_status(outcome.error->code);
  if (is_network_refusal(error)) {
    outcome.status = RunStatus::kDenied;
    outcome.exit_status = 126;
    outcome.denials.push_back(
        {Refuser::kNetwork, "network", "", 1, "", std::string(kNetworkGrant)});
  }
  return outcome;
}

}  // namespace sbx
