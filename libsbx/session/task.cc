// SPDX-License-Identifier: Apache-2.0
// A command run with what surrounds it.
#include "session/task.h"

#include <fcntl.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "policy/request.h"
#include "run/redaction.h"
#include "session/approval_records.h"

namespace sbx {
namespace {

constexpr std::size_t kLeastKeptBytes = std::size_t{1} << 20;
constexpr std::size_t kMostKeptBytes = std::size_t{16} << 20;

// 1 MiB of each stream; more where the policy lets a run answer with more.
TaskOutputLimits output_limits(const Policy& policy) {
  TaskOutputLimits limits;
  limits.stream_bytes = kMostKeptBytes;
  if (policy.run.output_bytes) {
    limits.stream_bytes = std::clamp(static_cast<std::size_t>(*policy.run.output_bytes),
                                     kLeastKeptBytes, kMostKeptBytes);
  }
  limits.lines = policy.run.limits.output_lines;
  return limits;
}

}  // namespace

Task::Task(TaskKind kind, std::string id, SharedPolicy policy, Request request, TerminalSize size)
    : kind_(kind),
      id_(std::move(id)),
      policy_(std::move(policy)),
      request_(std::move(request)),
      output_(output_limits(*policy_)) {
  using std::chrono::duration_cast;
  started_ = Clock::now();
  started_at_ms_ =
      duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  if (kind_ == TaskKind::kTerminal || kind_ == TaskKind::kKeptShell)
    terminal_.emplace(output_, stdin_, size);
}

std::string Task::cwd() const {
  if (!is_running() && !outcome_.cwd.empty()) return outcome_.cwd;
  if (!request_.cwd) return policy_->sandbox.workspace;
  return request_.cwd->starts_with('/') ? *request_.cwd
                                        : policy_->sandbox.workspace + "/" + *request_.cwd;
}

double Task::uptime_seconds() const {
  const auto until = is_running() ? Clock::now() : ended_at_;
  return std::chrono::duration<double>(until - started_).count();
}

RunInput Task::run_input(const Request& request, const HostFacts& facts,
                         const Environment& inherited, Approvals& approvals) {
  RunInput input{*policy_, request, facts, inherited};
  input.is_alone = false;
  input.declines_network = declines_network_;
  input.decide = [this, &request, &approvals](const guard::Judgement& judgement,
                                              const std::string& cwd) {
    return decide_request(approvals, *policy_, request, judgement, cwd, nullptr);
  };
  return input;
}

void Task::enter_shell(const HostFacts& facts, const Environment& inherited, Approvals& approvals,
                       const std::string& at) {
  is_in_shell_ = false;
  judged_in_ = at.empty() ? cwd() : at;
  Request judged = request_;
  if (!judged.cwd) judged.cwd = judged_in_;
  run_ = std::make_unique<CommandRun>(run_input(judged, facts, inherited, approvals));
  if (!run_->look()) return take_outcome();
  redaction_ = run_->redaction();
  run_.reset();
  is_in_shell_ = true;
}

void Task::conclude(Outcome outcome, ShellReport report) {
  is_in_shell_ = false;
  shell_ = std::move(report);
  outcome.description = request_.description;
  outcome.command = request_.command;
  outcome.argv = request_argv(*policy_, request_);
  outcome.started_at_ms = started_at_ms_;
  ended_at_ = Clock::now();
  outcome.duration_ms = 1000 * uptime_seconds();
  redact_outcome(redaction_, outcome);
  outcome_ = std::move(outcome);
  output_.finish();
}

Outcome Task::progress() const { return run_ ? run_->progress() : outcome_; }

std::vector<Denial> Task::refusals(const Task& call, const Outcome& outcome, pid_t inside) const {
  return run_ ? run_->refusals_of_call(call.request_, outcome, inside) : std::vector<Denial>();
}

Outcome Task::shown_progress() const {
  if (!is_running()) return outcome_;
  Outcome outcome = run_ ? run_->progress_and_output() : outcome_;
  take_texts(outcome);
  redact_outcome(run_ ? run_->redaction() : redaction_, outcome);
  outcome.command = words_.command;
  outcome.description = words_.description;
  outcome.cwd = words_.cwd;
  return outcome;
}

// What runs in the shell beside its calls is written into its output by who reads that.
void Task::take_texts(Outcome& outcome) const {
  if (kind_ != TaskKind::kKeptShell) return;
  TaskOutput::Text text = output_.read(0);
  for (const auto& [channel, from, to] :
       {std::tuple{OutputChannel::kOut, &text.out, &outcome.out},
        std::tuple{OutputChannel::kErr, &text.err, &outcome.err}}) {
    to->text = std::move(*from);
    to->truncated = output_.has_dropped(channel);
  }
}

void Task::take_words() {
  words_.command = request_.command;
  words_.description = request_.description;
  words_.cwd = cwd();
  redact_outcome(run_->redaction(), words_);
}

void Task::start(const HostFacts& facts, const Environment& inherited, ReadySandboxes* warm,
                 Approvals& approvals, std::shared_ptr<KeptLayer> layer, HostLooks* looks) {
  RunInput input = run_input(request_, facts, inherited, approvals);
  input.warm = warm;
  input.layer = std::move(layer);
  input.looks = looks;
  input.merge = request_.merge;
  input.tells_begin = has_id(kind_);
  if (has_id(kind_)) input.most_output = kMostKeptBytes;
  if (terminal_) prepare_terminal(input);
  if (const Status ready = prepare_input(input); !ready.ok()) {
    return refuse(ready.error(), inherited, facts.user_name);
  }
  if (kind_ != TaskKind::kRun) {
    input.unfinished = Unfinished::kShown;
    input.on_output = [this](OutputChannel channel, std::string_view text) {
      output_.append(channel, text);
      if (terminal_) terminal_->append(text);
      // The command has its input. Until then a weaker tier may be tried with the same descriptor.
      stdin_reader_.reset();
    };
  }
  run_ = std::make_unique<CommandRun>(std::move(input));
  run_->start();
  pid_ = run_->pid();
  if (run_->is_done()) return take_outcome();
  if (has_id(kind_)) take_words();
}

void Task::prepare_terminal(RunInput& input) {
  input.mode = OutputMode::kOwnTerminal;
  input.is_answered = kind_ == TaskKind::kTerminal;
  input.warm = nullptr;  // those that wait have none
  input.pty_rows = static_cast<unsigned>(terminal_->size().rows);
  input.pty_columns = static_cast<unsigned>(terminal_->size().columns);
  input.inherited["TERM"] = "xterm-256color";
  Result<RedactionInput> redaction = choose_redaction(
      *policy_, make_environment(*policy_, input.inherited, input.facts.user_name));
  if (redaction.ok()) terminal_->set_redaction(std::move(redaction).value());
}

Status Task::prepare_input(RunInput& input) {
  if (terminal_) {
    stdin_.expect_terminal();
  } else if (kind_ == TaskKind::kTask || request_.stdin_text) {
    SBX_TRY(stdin_reader_, stdin_.open());
    input.stdin_fd = stdin_reader_.get();
  }
  // Into a queue that is new and empty: it cannot be refused.
  if (request_.stdin_text) (void)stdin_.push(*request_.stdin_text, true, nullptr).ok();
  return {};
}

void Task::refuse(const Error& error, const Environment& inherited, std::string_view user) {
  run_.reset();
  Outcome outcome = error_outcome(error);
  outcome.command = request_.command;
  outcome.argv = request_argv(*policy_, request_);
  outcome.description = request_.description;
  outcome.cwd = cwd();
  outcome.sandbox.profile = policy_->run.name;
  outcome.sandbox.managed = policy_->run.managed;
  // What the request itself would set is not in the policy, where that was refused.
  Environment environment = make_environment(*policy_, inherited, user);
  environment.insert(request_.env.begin(), request_.env.end());
  const Result<RedactionInput> redaction = choose_redaction(*policy_, environment);
  redact_outcome(redaction.ok() ? redaction.value() : redaction_, outcome);
  outcome_ = std::move(outcome);
  ended_at_ = Clock::now();
}

void Task::step() {
  if (!run_) return;
  run_->step();
  if (run_->pid() > 0) pid_ = run_->pid();  // of a weaker tier that was tried after it began
  if (terminal_ && !terminal_->has_master() && run_->terminal_fd() >= 0) {
    terminal_->take_master(run_->terminal_fd());
    stdin_.take_terminal(OwnedFd(fcntl(run_->terminal_fd(), F_DUPFD_CLOEXEC, 3)));
  }
  stdin_.write();
  if (run_->is_done()) take_outcome();
}

std::optional<Task::Clock::time_point> Task::deadline() const {
  return run_ ? run_->deadline() : std::nullopt;
}

void Task::terminate(std::chrono::milliseconds grace) {
  if (run_) run_->terminate(grace);
}

void Task::rest(bool on) {
  if (run_) run_->rest(on);
}

void Task::cancel() {
  if (run_) run_->cancel();
}

std::size_t Task::kept_bytes() const {
  const auto size = [](const std::optional<std::string>& text) { return text ? text->size() : 0; };
  std::size_t bytes = (terminal_ ? terminal_->kept_bytes() : 0) + output_.kept_bytes() +
                      2 * size(request_.stdin_text);
  for (const RequestFile& file : request_.files) bytes += file.content.size();
  // The words of the command are in the request and, twice, in the outcome.
  if (has_id(kind_)) bytes += outcome_.out.text.size() + outcome_.err.text.size();
  return bytes + 3 * request_.command.size() + 2 * size(request_.description);
}

void Task::take_outcome() {
  outcome_ = run_->outcome();
  outcome_.started_at_ms = started_at_ms_;  // as `start` has said
  words_ = {};
  if (outcome_.error && request_.cwd) outcome_.error = named_by_request(*outcome_.error);
  if (!cancel_reason_.empty() && outcome_.status == RunStatus::kKilled) {
    outcome_.status = RunStatus::kCancelled;
  }
  run_.reset();
  request_.files.clear();
  request_.stdin_text.reset();
  output_.finish();
  take_texts(outcome_);
  ended_at_ = Clock::now();
  stdin_reader_.reset();
  stdin_.end(Error{ErrorCode::kBadValue, "the task has ended", "/task_id", "start it again"});
  if (terminal_) terminal_->end();
}

}  // namespace sbx
