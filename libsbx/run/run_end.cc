// SPDX-License-Identifier: Apache-2.0
// The end of a run: what is found, what is told, what is let go.
#include <signal.h>

#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

#include "host_files/changes.h"
#include "host_files/leftovers.h"
#include "host_files/spill.h"
#include "kept/store.h"
#include "policy/futile_grants.h"
#include "run/met_paths.h"
#include "run/printed_paths.h"
#include "run/redaction.h"
#include "run/run.h"
#include "run/unreported.h"

namespace sbx {

void CommandRun::describe_unbegun() {
  Outcome& outcome = outcome_;
  outcome.command = input_.request.command;
  outcome.description = input_.request.description;
  if (outcome.argv.empty()) outcome.argv = request_argv(*policy_, input_.request);
  if (outcome.cwd.empty()) {
    const auto cwd = request_cwd(*policy_, input_.request);
    outcome.cwd = cwd.ok() ? cwd.value() : *input_.request.cwd;
  }
  outcome.sandbox.profile = policy_->run.name;
  outcome.sandbox.managed = policy_->run.managed;
}

void CommandRun::fail(const Error& error, RunStatus status) {
  if (error.code == ErrorCode::kCancelled) {  // while its layer was waited for, or made
    given_up_ = waiting_signal() != 0 ? Cause::kCancelled : Cause::kOwnerGone;
    return give_up();
  }
  describe_unbegun();
  outcome_.status = status;
  outcome_.error = with_cause(error);
  outcome_.exit_status = error_exit_status(outcome_.error->code);
  done();
}

// Killed before there was anything to kill.
void CommandRun::give_up() {
  describe_unbegun();
  Ending ending;
  ending.cause = given_up_;
  const int number = waiting_signal();
  ending.cancel_signal = number != 0 ? number : SIGTERM;
  decide(outcome_, ending);
  done();
}

// Whether the answer may be made while the kernel takes the sandbox apart: nothing of the run is
// left on the host but stubs. Whoever keeps warm sandboxes waits for the rest later, the destructor
// of a run that is alone after the answer, any other before it.
bool CommandRun::may_leave() const {
  return sandbox_ != nullptr && sandbox_->plan.has_pid_namespace &&
         sandbox_->leftovers.may_linger();
}

void CommandRun::finish(Supervised& supervised) {
  note_layers(outcome_, sandbox_->plan, supervised.confirmed);
  take_output(outcome_, *policy_, supervised);
  if (network_ != nullptr) {
    outcome_.connections = network_->connections();
    outcome_.unlisted_connections = network_->unlisted_connections();
    outcome_.unlisted_requests = network_->unlisted_requests();
  }
  // As much as the command chose to make. What may live on is ended first.
  const bool is_long = layer_ != nullptr || policy_->sandbox.filesystem.overlay ||
                       has_patterns(*policy_) || held_->takes_long();
  if (!is_long || !supervisor_->is_over()) {
    look_after(supervised);
    return finish_after(supervised);
  }
  supervisor_->leave();
  network_.reset();
  beside([this, &supervised] { look_after(supervised); },
         [this, &supervised] { finish_after(supervised); });
}

void CommandRun::look_after(const Supervised& supervised) {
  held_->compare(*policy_, sandbox_->plan, after_.denials);
  if (layer_ != nullptr) {
    if (!only_reads()) after_.layer = layer_->finish();
    after_.changes = layer_->changes();
  } else if (policy_->sandbox.filesystem.overlay) {
    after_.changes =
        list_changes(sandbox_->plan.overlays, supervised.overlays, after_.parted, &after_.sizes);
  } else {
    return;
  }
  held_->compare_changes(*policy_, *after_.changes, after_.denials);
  if (layer_ == nullptr) return;
  held_->name_protected(*after_.changes, after_.denials);
  const auto& most_mb = policy_->sandbox.limits.layer_mb;
  if (most_mb && !only_reads()) after_.fills_layer = layer_->has_outgrown(*most_mb << 20);
  layer_->clear_marks();  // while PID 1 ends, and not when the next run waits for it
}

void CommandRun::finish_after(Supervised& supervised) {
  for (Denial& denial : after_.denials.entries()) denials_.add(std::move(denial));
  if (!after_.layer.ok()) {  // what cannot be noted is noted before the next run or action
    outcome_.sandbox.warnings.push_back("layer: " + after_.layer.error().message);
  }
  std::string parted =
      layer_ != nullptr ? layer_->parted().text("layer") : after_.parted.text("overlay");
  if (!parted.empty()) outcome_.sandbox.warnings.push_back(std::move(parted));
  outcome_.changes = std::move(after_.changes);
  // Without a size, or with none at all, no limit of ours was met.
  const std::int64_t tmp_mb = policy_->sandbox.limits.tmp_mb.value_or(0);
  supervised.has_filled_scratch = supervised.has_filled_scratch && tmp_mb > 0;
  if (supervised.has_filled_scratch) {
    Denial full = met_limit(Limit::kTmp, policy_->sandbox);
    for (std::size_t i = 0; i < after_.sizes.size(); ++i) {
      if (after_.sizes[i] >= tmp_mb << 19) full.target = sandbox_->plan.overlays[i];
    }
    denials_.add(std::move(full));
  }
  // Written faster than the looks while it ran could see.
  if (after_.fills_layer && supervised.ending.cause == Cause::kEnded) {
    supervised.ending.cause = Cause::kLimit;
    supervised.ending.limit = Limit::kLayer;
  }
  decide(outcome_, supervised, sandbox_->leftovers);
  name_loss(outcome_, denials_.entries());
  finish_spill();
  done();
}

void CommandRun::finish_spill() {
  if (!spill_) return;
  const Status status = spill_->finish();
  outcome_.output_path = spill_->path();
  if (spill_->left_out() > 0) {
    outcome_.sandbox.warnings.push_back("output_path: " + std::to_string(spill_->left_out()) +
                                        " bytes are beyond output.spill_mb and left out");
  }
  if (!status.ok() && !outcome_.error) outcome_.error = status.error();
}

std::vector<Denial> CommandRun::refusals(const Request& request, const Outcome& outcome) const {
  return refusals_of_call(request, outcome, -1);
}

std::vector<Denial> CommandRun::refusals_of_call(const Request& request, const Outcome& outcome,
                                                 pid_t inside) const {
  if (sandbox_ == nullptr) return {};
  std::vector<Denial> out =
      unreported_refusals({request, *policy_, base_environment_, input_.facts.home, *sandbox_,
                           outcome, has_unknown_names_});
  const auto add = [&out](std::vector<Denial> more) {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  };
  const std::string& printed = complaints(outcome);
  if (inside >= 0 && runs() && tells_of_paths(printed)) {
    Request there = request;
    there.cwd = outcome.cwd;
    const Result<guard::Judgement> judged = judge_command(*policy_, there, base_environment_);
    if (judged.ok()) {
      add(met_paths(sandbox_->plan, *policy_, told_paths(judged.value()), inside, printed, out));
    }
  }
  // Last: what else names a path knows more of it.
  std::vector<Denial> known = outcome.denials;
  known.insert(known.end(), out.begin(), out.end());
  add(printed_refusals(sandbox_->plan, *policy_, printed, known, outcome.exit_code != 0));
  return out;
}

void CommandRun::done() {
  outcome_.denials = denials_.entries();
  for (Denial& denial : refusals(input_.request, outcome_)) denials_.add(std::move(denial));
  const bool goes_on = fresh_ && !input_.is_alone;
  if (!goes_on) loop_.close();
  const bool is_leaving = supervisor_ != nullptr && supervisor_->is_over() && may_leave();
  if (is_leaving && input_.warm != nullptr) {
    input_.warm->see_off(std::move(sandbox_), std::move(supervisor_));
  }
  // What the end of the run removes is not taken from under PID 1.
  const bool removes_files = fresh_ || policy_->sandbox.each_layer == EachLayer::kThrownAway;
  const bool goes_later = is_leaving && supervisor_ != nullptr && input_.is_alone && !removes_files;
  if (goes_later) {
    supervisor_->leave();
    sandbox_->leftovers.remove_stubs();
  } else {
    supervisor_.reset();
  }
  network_.reset();
  if (!goes_later) {
    sandbox_.reset();
    if (layer_ != nullptr) {
      layer_->leave();
      if (policy_->sandbox.each_layer == EachLayer::kThrownAway) layer_->throw_away();
    }
    layer_.reset();
  }
  const auto remove = [this] { is_removed_ = own_.remove_workspace(); };
  if (goes_on) return beside(remove, [this] { close(); });
  remove();
  close();
}

void CommandRun::close() {
  is_done_ = true;
  loop_.close();
  if (!is_removed_) {
    outcome_.sandbox.warnings.push_back("workspace: " + policy_->sandbox.workspace +
                                        " could not be removed whole");
  }
  outcome_.denials = denials_.entries();
  drop_futile_grants(*policy_, outcome_);
  redact_outcome(redaction_, outcome_);
  for (Denial& denial : outcome_.denials) make_printable(denial);
  outcome_.duration_ms = std::chrono::duration<double, std::milli>(Clock::now() - began_).count();
}

}  // namespace sbx
