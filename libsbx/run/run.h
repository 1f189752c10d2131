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

#include "base/aside.h"
#include "base/loop.h"
#include "guard/verdict.h"
#include "host/facts.h"
#include "host_files/changes.h"
#include "host_files/leftovers.h"
#include "host_files/spill.h"
#include "model/exit_status.h"
#include "model/outcome.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "run/answer.h"
#include "run/fold.h"
#include "run/held_files.h"
#include "run/network.h"
#include "run/sandbox.h"
#include "run/supervisor.h"

namespace sbx {

// Sandboxes that were made ready in advance.
class ReadySandboxes {
 public:
  virtual ~ReadySandboxes() = default;
  // One whose plan holds the wanted command, or null.
  virtual std::unique_ptr<Sandbox> take(const SandboxInput& wanted) = 0;
  // What is left of a run whose command and all its processes have ended: PID 1 on its way out, and
  // the descriptors that hold its mounts. Nobody waits for them here.
  virtual void see_off(std::unique_ptr<Sandbox> sandbox,
                       std::unique_ptr<Supervisor> supervisor) = 0;
};

// Why a request that a person has to decide on does not run; `approval` is what would allow it.
struct NotApproved {
  Error error;
  std::optional<Approval> approval;
  int signal = 0;  // that came while a person was asked: the run is cancelled
};

// What a session's runs share: its owner, and what they have found out of the host, which the next
// need not find out again.
struct HostLooks {
  int owner_pidfd = -1;  // a layer that is made ends with this process; -1: none
  RootLooks roots;
  bool git_takes_long = false;  // a look at what git reads
};

struct RunInput {
  const Policy& policy;
  const Request& request;
  HostFacts facts;        // quick facts
  Environment inherited;  // the caller's environment
  OutputMode mode = OutputMode::kCapture;
  bool merge = false;
  bool is_answered = false;                   // the command has a terminal, and somebody at it
  std::optional<std::int64_t> most_output{};  // of each stream, in bytes, whatever the policy says
  int stdin_fd = -1;
  int signal_fd = -1;
  int owner_pidfd = -1;
  unsigned pty_rows = 24;
  unsigned pty_columns = 80;
  ReadySandboxes* warm = nullptr;      // null: none
  std::shared_ptr<KeptLayer> layer{};  // the session's, where it has one
  HostLooks* looks = nullptr;          // shared by a session's runs; null: none
  bool is_alone = true;                // no other run and no other child in this process
  bool tells_begin = false;            // has_begun() is asked for
  bool declines_network = false;       // that the profile grants: the caller can ask for it
  // Decides on a request that needs approval, in this directory; nullopt: it may run. Without it
  // none does.
  std::function<std::optional<NotApproved>(const guard::Judgement&, const std::string& cwd)>
      decide{};
  // What the command writes, redacted, as soon as nothing in it can still turn out to be a secret.
  std::function<void(OutputChannel, std::string_view)> on_output{};
  Unfinished unfinished = Unfinished::kHeld;
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

  // Whether the policy lets it run, without running it; false: it is done, and the outcome says
  // why.
  bool look();
  const RedactionInput& redaction() const { return redaction_; }  // from look() or start() on

  // Once, to the end. Never fails otherwise than in the outcome.
  const Outcome& run();

  // Or driven from a loop of the caller's: start(), then step() whenever poll_fd() can be read or
  // deadline() is reached, until is_done(). None of them blocks for longer than a launch takes,
  // unless it is alone: walks through what commands have made are done on a thread beside.
  void start();
  void step() { turn(0); }
  int poll_fd() const { return loop_.fd(); }  // from start() to the end; the same all the while
  std::optional<Clock::time_point> deadline() const;
  bool is_done() const { return is_done_; }
  const Outcome& outcome() const { return outcome_; }  // once done
  // While it runs: the sandbox, and what was refused so far.
  Outcome progress() const;
  // The same, with what it has written so far.
  Outcome progress_and_output() const;
  // What no layer tells of (run/unreported.h and run/met_paths.h), of a part of it that has a text
  // and an outcome of its own; nothing once it is done. `inside`: a process of its.
  std::vector<Denial> refusals_of_call(const Request& request, const Outcome& outcome,
                                       pid_t inside) const;
  // Of the sandbox's PID 1; -1 unless it runs.
  pid_t pid() const { return runs() ? supervisor_->pid() : -1; }

  // kOwnTerminal: the pty's master, once there is one, until the end.
  int terminal_fd() const { return runs() ? supervisor_->terminal_fd() : -1; }
  // The command's exec has succeeded: said a moment after it has, and until the end is known.
  bool has_begun() const { return supervisor_ != nullptr && supervisor_->has_begun(); }

  // The tree is killed; status cancelled, or killed. No effect once something else has ended it.
  void cancel();
  // SIGTERM to everything inside, SIGKILL to what is left after `grace`; status killed.
  void terminate(std::chrono::milliseconds grace);
  // While held back the output is not read, so that the command waits for its reader.
  void hold_output(bool hold);
  void rest(bool on);  // see Supervisor

 private:
  void turn(int longest);
  bool runs() const { return !is_done_ && supervisor_ != nullptr && !then_; }

  // Does `work`, then `then`: at once where nobody else waits for this thread, otherwise beside it,
  // which may only read meanwhile what `work` reads.
  void beside(const std::function<void()>& work, std::function<void()> then);

  // --- before it ---
  // Of the paths that a text names, those whose refusal is told.
  std::vector<guard::RefusedPath> told_paths(const guard::Judgement& judgement) const;
  bool pass_policy();
  bool is_approved(const guard::Judgement& judgement);
  void refuse(const guard::Judgement& judgement);
  Status make_fresh();
  Status enter_layer();
  void look_for_patterns(std::function<void()> then);
  void go_on();
  Status prepare_workspace();
  Status open_layer();
  bool only_reads() const;

  // --- one attempt ---
  void attempt();
  void begin();
  Status find_sandbox(SandboxInput& wanted);
  Status prepare(const SandboxInput& wanted);
  SandboxInput sandbox_input();
  SuperviseInput supervise_input();
  void conclude();
  void attempt_failed(const Error& failure, bool is_refusal);
  bool any_obstacle() const;

  // --- after it ---
  // What is found beside.
  struct Aftermath {
    DenialLedger denials;
    Status layer;
    std::optional<std::vector<Change>> changes;
    bool fills_layer = false;
    Parted parted{};                    // by an overlay
    std::vector<std::int64_t> sizes{};  // of what was written to each overlay
  };
  void finish(Supervised& supervised);
  void look_after(const Supervised& supervised);
  void finish_after(Supervised& supervised);
  void finish_spill();
  void describe_unbegun();
  void fail(const Error& error, RunStatus status = RunStatus::kError);
  void give_up();
  std::vector<Denial> refusals(const Request& request, const Outcome& outcome) const;
  void done();
  void close();
  bool may_leave() const;

  RunInput input_;
  std::optional<Policy> fresh_;  // with the workspace of this run
  const Policy* policy_;
  Outcome outcome_;
  DenialLedger denials_;
  bool is_done_ = false;
  bool probed_ = false;
  bool is_warm_ = false;      // the sandbox waited in the pool
  bool starts_cold_ = false;  // one from there could not be used
  bool has_unknown_names_ = false;
  std::vector<std::string> named_;  // in the command's text, and not to be had
  Clock::time_point began_;
  Loop loop_;
  Environment base_environment_;
  RedactionInput redaction_;
  std::optional<Spill> spill_;
  std::shared_ptr<KeptLayer> layer_;  // while this run is in it
  Leftovers own_;                     // a fresh workspace, and the place beside its boxes
  std::optional<HeldFiles> held_;     // as the run found them
  Expansions expansions_;             // of the policy's patterns
  std::vector<LaidFile> laid_;        // the request's files, where they go to an overlay
  int looks_ = 0;                     // for those
  Cause given_up_ = Cause::kNone;     // before there was anything to end
  Aftermath after_;
  bool is_removed_ = false;  // a fresh workspace
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<RunNetwork> network_;
  std::unique_ptr<Supervisor> supervisor_;  // its tree lives on what is above
  std::function<void()> then_;              // once what is done beside has ended
  Loop::Watch aside_watch_;
  std::unique_ptr<Aside> aside_;  // the first to go
};

// What the command policy says of the request, whose size is looked at first: nobody is asked about
// what no answer could run. `base`: make_environment() of the policy. Errors: those of
// check_exec_size() and judge().
Result<guard::Judgement> judge_command(const Policy& policy, const Request& request,
                                       const Environment& base);
// The same for an answer: without secrets. Errors: also those of choose_redaction().
Result<guard::Judgement> shown_judgement(const Policy& policy, const Request& request,
                                         const Environment& base);

}  // namespace sbx
