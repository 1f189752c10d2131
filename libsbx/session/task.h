// SPDX-License-Identifier: Apache-2.0
// Task: one command of a session, its output kept for whoever asks, its input open, and how it
// ended. A `run` is a task that nobody can name. Driven by the session; knows no JSON.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/outcome.h"
#include "run/run.h"
#include "session/approvals.h"
#include "session/stdin_queue.h"
#include "session/task_output.h"
#include "session/task_terminal.h"

namespace sbx {

// What a call in the kept shell says of that.
struct ShellReport {
  bool kept = true;        // what the call has set is there for the next one
  bool restarted = false;  // the next one gets a new shell
  std::string reason;      // empty: none
};

enum class TaskKind : std::uint8_t {
  kTask,         // has an id; output kept; input open unless the request gives it
  kTerminal,     // … on a terminal of its own
  kKeptShell,    // … in which calls are run that have none
  kRun,          // its outcome holds its output
  kStreamedRun,  // … which is kept for followers as well
};

constexpr bool has_id(TaskKind kind) {
  return kind == TaskKind::kTask || kind == TaskKind::kTerminal || kind == TaskKind::kKeptShell;
}

class Task {
 public:
  using Clock = CommandRun::Clock;

  Task(TaskKind kind, std::string id, SharedPolicy policy, Request request, TerminalSize size = {});
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // --- what it is ---
  TaskKind kind() const { return kind_; }
  const std::string& id() const { return id_; }  // a UUID; empty for a run
  const Policy& policy() const { return *policy_; }
  const Request& request() const { return request_; }
  std::string cwd() const;
  pid_t pid() const { return pid_; }  // that it started with; -1 when it never ran
  std::int64_t started_at_ms() const { return started_at_ms_; }
  double uptime_seconds() const;  // of an ended one: how long it ran

  // --- how it goes ---
  bool is_running() const { return run_ != nullptr || is_in_shell_; }
  // The command's exec has succeeded, or the task has ended. Told of tasks only, not of runs.
  bool has_begun() const { return run_ == nullptr || run_->has_begun(); }
  // Of a call in the kept shell that has ended.
  const std::optional<ShellReport>& shell() const { return shell_; }
  // It has ended without its command: no task, and its outcome is the answer to who wanted one.
  bool never_began() const { return never_began_; }
  void mark_never_began() { never_began_ = true; }
  // It asks for none of the network that the profile grants.
  void decline_network() { declines_network_ = true; }
  // Null while it runs. Its texts are held to the policy's caps; what output() keeps, to its own.
  const Outcome* outcome() const { return is_running() ? nullptr : &outcome_; }
  Outcome* outcome() { return is_running() ? nullptr : &outcome_; }
  Clock::time_point ended_at() const { return ended_at_; }
  const TaskOutput& output() const { return output_; }
  TaskOutput& output() { return output_; }
  std::size_t kept_bytes() const;  // of output and request together

  // --- what can be done to it ---
  // `warm`, `layer` and `looks` may be null. There is an outcome at once where it cannot start.
  void start(const HostFacts& facts, const Environment& inherited, ReadySandboxes* warm,
             Approvals& approvals, std::shared_ptr<KeptLayer> layer, HostLooks* looks);
  // Instead of start(). `inherited` and `user` as in make_environment().
  void refuse(const Error& error, const Environment& inherited, std::string_view user);
  // Instead of start(): a call for the kept shell, which conclude() ends. It has ended already
  // where the policy does not let it run.
  // `at` is the shell's working directory, which the command policy goes by; empty: the first one.
  void enter_shell(const HostFacts& facts, const Environment& inherited, Approvals& approvals,
                   const std::string& at);
  // Whether it has entered for that directory, or says itself which is its own.
  bool is_judged_in(const std::string& at) const { return request_.cwd || judged_in_ == at; }
  void conclude(Outcome outcome, ShellReport report);
  void mark_for_shell() { shell_.emplace(); }                     // refused or not
  const RedactionInput& redaction() const { return redaction_; }  // of such a call
  Outcome progress() const;  // while it runs: the sandbox, and what was refused so far
  // The same, what it is and what it has written, redacted; its outcome once it has ended.
  Outcome shown_progress() const;
  // Of it count command, cwd and description, as shown_progress() has them: made once, since they
  // are asked for again and again.
  const Outcome& shown_words() const { return is_running() ? words_ : outcome_; }
  // Of a call of the shell that this is: what its text and its output tell of.
  std::vector<Denial> refusals(const Task& call, const Outcome& outcome, pid_t inside) const;
  void step();  // never blocks
  int poll_fd() const { return run_ ? run_->poll_fd() : -1; }
  std::optional<Clock::time_point> deadline() const;
  void terminate(std::chrono::milliseconds grace);
  // While it rests its output waits in its pipes; what has a deadline does not wait.
  void rest(bool on);
  void cancel();
  // It is ended for this reason ("reset", "shutdown", "owner"), not by a `kill`: its status will be
  // `cancelled`.
  void mark_cancelled(std::string reason) { cancel_reason_ = std::move(reason); }
  const std::string& cancel_reason() const { return cancel_reason_; }
  StdinQueue& input() { return stdin_; }
  // Null unless it has one.
  TaskTerminal* terminal() { return terminal_ ? &*terminal_ : nullptr; }
  const TaskTerminal* terminal() const { return terminal_ ? &*terminal_ : nullptr; }

 private:
  RunInput run_input(const Request& request, const HostFacts& facts, const Environment& inherited,
                     Approvals& approvals);
  void take_words();
  void take_texts(Outcome& outcome) const;
  void take_outcome();
  Status prepare_input(RunInput& input);
  void prepare_terminal(RunInput& input);

  TaskKind kind_;
  std::string id_;
  const SharedPolicy policy_;
  Request request_;
  TaskOutput output_;
  StdinQueue stdin_;
  OwnedFd stdin_reader_;  // until the command has it
  std::optional<TaskTerminal> terminal_;
  std::unique_ptr<CommandRun> run_;
  Outcome words_;  // while it runs
  Outcome outcome_;
  std::string cancel_reason_;
  bool is_in_shell_ = false;
  std::string judged_in_;
  RedactionInput redaction_;
  std::optional<ShellReport> shell_;
  bool never_began_ = false;
  bool declines_network_ = false;
  pid_t pid_ = -1;
  std::int64_t started_at_ms_ = 0;
  Clock::time_point started_;
  Clock::time_point ended_at_;
};

}  // namespace sbx
