// SPDX-License-Identifier: Apache-2.0
// The order of a run, and the table from what happened to what is said.
#include "run/run.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "host/cgroup.h"
#include "host/git_use.h"
#include "host/view.h"
#include "host_files/changes.h"
#include "host_files/leftovers.h"
#include "host_files/places.h"
#include "host_files/spill.h"
#include "host_files/workspace_files.h"
#include "policy/exec_size.h"
#include "policy/request.h"
#include "run/missing_programs.h"
#include "run/network.h"
#include "run/redaction.h"
#include "run/sandbox.h"

namespace sbx {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t unix_ms() {
  using std::chrono::duration_cast;
  return duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

double to_ms(const struct timeval& time) {
  return static_cast<double>(time.tv_sec) * 1000.0 + static_cast<double>(time.tv_usec) / 1000.0;
}

// What a protected path was; its change time tells of any write to it, whoever made it.
struct HeldState {
  std::string path;
  dev_t dev = 0;
  ino_t ino = 0;
  off_t size = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const HeldState&, const HeldState&) = default;
};

std::optional<HeldState> state_of(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return std::nullopt;
  return HeldState{path, info.st_dev, info.st_ino, info.st_size,
                   std::int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec};
}

std::vector<HeldState> states_of(const View& view) {
  std::vector<HeldState> out;
  for (const ViewProtect& protect : view.protects) {
    if (protect.node.kind == NodeKind::kMissing) continue;
    if (std::optional<HeldState> state = state_of(protect.node.path)) {
      out.push_back(std::move(*state));
    }
  }
  return out;
}

class Run {
 public:
  explicit Run(RunInput& input)
      : input_(input),
        policy_(&input.policy),
        base_environment_(make_environment(input.policy, input.inherited, input.facts.user_name)) {}

  void start() {
    began_ = Clock::now();
    outcome_.started_at_ms = unix_ms();
    epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_.is_open()) {
      return fail(Error{ErrorCode::kSetupFailed, "epoll_create1: " + errno_text(errno),
                        "epoll_create1", "raise the limit of open files (ulimit -n)", errno});
    }
    Result<RedactionInput> redaction = choose_redaction(*policy_, base_environment_);
    if (!redaction.ok()) return fail(redaction.error());
    redaction_ = std::move(redaction).value();
    if (!pass_policy()) return;
    if (Status status = prepare_workspace(); !status.ok()) return fail(status.error());
    if (policy_->run.output.spill_mb > 0 && input_.mode == OutputMode::kCapture) {
      spill_.emplace(log_places(input_.inherited, *policy_), outcome_.started_at_ms,
                     static_cast<std::uint64_t>(policy_->run.output.spill_mb) << 20);
    }
    attempt();
  }

  void step(int wait_ms) {
    if (is_done_) return;
    supervisor_->step(wait_ms);
    if (supervisor_->is_finished()) conclude();
  }

  bool is_done() const { return is_done_; }
  const Outcome& outcome() const { return outcome_; }
  int poll_fd() const { return epoll_.get(); }
  std::optional<Clock::time_point> deadline() const {
    return is_done_ ? std::nullopt : supervisor_->deadline();
  }
  Supervisor* supervisor() { return is_done_ ? nullptr : supervisor_.get(); }

 private:
  // A fresh workspace and the request's files are there before the plan is made, since that looks
  // at what there is.
  Status prepare_workspace() {
    if (policy_->run.workspace.mode == WorkspaceMode::kFresh) {
      SBX_TRY(const std::string path, own_.make_workspace(workspace_places(input_.inherited)));
      policy_ = &fresh_.emplace(with_workspace(input_.policy, path));
      input_.warm = nullptr;  // what was made ready in advance does not show it
    }
    if (input_.request.files.empty()) return {};
    if (policy_->sandbox.filesystem.overlay) {
      return Error{ErrorCode::kNotGranted,
                   "files would be written to the workspace itself, beside its overlay", "/files",
                   "the operator grants it with filesystem.overlay = false"};
    }
    SBX_TRY(const View places, inspect_roots(*policy_));
    return write_workspace_files(policy_->sandbox.workspace, input_.request.files, places,
                                 policy_->sandbox.file_bytes);
  }

  // What the command policy says of the request. False: the outcome says why it does not run.
  bool pass_policy() {
    // Nobody is asked about what no answer could run.
    if (const Status size = check_exec_size(input_.policy, input_.request, base_environment_);
        !size.ok()) {
      fail(size.error());
      return false;
    }
    const Result<Judgement> judged = judge(input_.policy, input_.request);
    if (!judged.ok()) {
      fail(judged.error());
      return false;
    }
    const Judgement& judgement = judged.value();
    // What the text does not tell is looked at as it happens.
    has_unknown_names_ = !judgement.unknown.empty();
    if (judgement.verdict == Verdict::kAllow) return true;
    if (judgement.verdict == Verdict::kDeny) {
      refuse(judgement);
      return false;
    }
    return is_approved(judgement);
  }

  bool is_approved(const Judgement& judgement) {
    std::optional<NotApproved> refusal =
        NotApproved{Error{ErrorCode::kNeedsApproval,
                          "a person has to decide: " + judgement.findings.front().reason,
                          judgement.findings.front().id, "nobody can be asked here"},
                    std::nullopt};
    if (input_.decide) refusal = input_.decide(judgement, judgement.cwd);
    if (!refusal) return true;
    outcome_.approval = std::move(refusal->approval);
    fail(refusal->error, refusal->error.code == ErrorCode::kNeedsApproval
                             ? RunStatus::kNeedsApproval
                             : RunStatus::kError);
    return false;
  }

  void refuse(const Judgement& judgement) {
    for (const Finding& finding : judgement.findings) {
      if (finding.verdict != Verdict::kDeny) break;
      const bool by_name = !finding.program.empty() && finding.target.empty();
      denials_.add({"command", by_name ? finding.program : finding.id, finding.target, 1,
                    finding.program, finding.grant});
    }
    const Finding& first = judgement.findings.front();
    fail(Error{ErrorCode::kDenied, first.reason, first.id,
               first.grant.empty() ? "" : "the operator may set " + first.grant},
         RunStatus::kDenied);
  }

  void attempt() {
    // What an attempt before this one put in force has ended with it.
    outcome_.sandbox.confirmed = {};
    outcome_.sandbox.landlock_abi = 0;
    supervisor_.reset();
    network_.reset();
    sandbox_.reset();
    denials_ = {};
    SandboxInput wanted = sandbox_input();
    if (input_.warm != nullptr && !probed_ && !starts_cold_) {
      sandbox_ = input_.warm->take(wanted);
    }
    is_warm_ = sandbox_ != nullptr;
    if (sandbox_ == nullptr) {
      choose_cgroup(*policy_, input_.facts);
      if (Status moved = own_.enter_leaf(input_.facts.cgroup); !moved.ok()) {
        return fail(moved.error());
      }
      Result<std::unique_ptr<Sandbox>> planned = plan_sandbox(wanted);
      if (!planned.ok()) return fail(planned.error());
      sandbox_ = std::move(planned).value();
    }
    describe(outcome_, sandbox_->plan);
    held_ = states_of(sandbox_->view);
    if (!sandbox_->spawned) {
      if (Status status = prepare_sandbox(wanted, *sandbox_); !status.ok()) {
        return fail(status.error());
      }
    }
    Result<std::unique_ptr<RunNetwork>> network =
        RunNetwork::create(*policy_, sandbox_->plan, denials_);
    if (!network.ok()) return fail(network.error());
    network_ = std::move(network).value();
    if (network_ != nullptr) outcome_.sandbox.published = network_->published();
    if (guards_git(*policy_)) git_before_ = look_at_git(sandbox_->view.roots);
    supervisor_ = std::make_unique<Supervisor>(supervise_input());
    if (Status status = supervisor_->start(); !status.ok()) {
      const bool is_refusal = status.error().code == ErrorCode::kLayerUnavailable;
      return attempt_failed(status.error(), is_refusal);
    }
    // What the loop needs may fail right after the clone.
    if (supervisor_->is_finished()) conclude();
  }

  void conclude() {
    Supervised& supervised = supervisor_->collect();
    // Somebody ended it while it waited, or the host has uncovered or moved something of it since
    // it was begun: the command has not begun, and begins in a new one.
    const bool is_stale =
        supervised.failure && (supervised.failure->sys_errno == ESTALE ||
                               supervised.failure->code == ErrorCode::kSetupFailed);
    if (is_warm_ && (supervised.was_lost || is_stale)) {
      starts_cold_ = true;
      return attempt();
    }
    if (!supervised.failure) {
      finish(outcome_, sandbox_->plan, supervised, sandbox_->leftovers);
      finish_spill();
      return done();
    }
    note(outcome_, sandbox_->plan, supervised);
    attempt_failed(*supervised.failure, supervised.failed_layer != kNoLayer &&
                                            supervised.failure->code == ErrorCode::kSetupFailed);
  }

  void finish_spill() {
    if (!spill_) return;
    const Status status = spill_->finish();
    outcome_.output_path = spill_->path();
    if (spill_->left_out() > 0) {
      outcome_.sandbox.warnings.push_back("output_path: " + std::to_string(spill_->left_out()) +
                                          " bytes are beyond output.spill_mb and left out");
    }
    if (!status.ok() && !outcome_.error) outcome_.error = status.error();
  }

  // Find out which layers cannot be had, then plan again: with what is left where the policy
  // allows that, else for an error that names the cause and the mend.
  void attempt_failed(const Error& failure, bool is_refusal) {
    // It lives in the supervisor, which the next attempt replaces.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const Error error = failure;
    if (probed_ || !is_refusal) return fail(error);
    probed_ = true;
    probe_layers(input_.facts);
    if (!any_obstacle()) return fail(error);
    attempt();
  }

  void done() {
    is_done_ = true;
    add_missing_programs();
    if (supervisor_ != nullptr && supervisor_->is_over() && may_leave()) {
      input_.warm->see_off(std::move(sandbox_), std::move(supervisor_));
    }
    supervisor_.reset();
    network_.reset();
    sandbox_.reset();
    if (!own_.remove_workspace()) {
      outcome_.sandbox.warnings.push_back("workspace: " + policy_->sandbox.workspace +
                                          " could not be removed whole");
    }
    outcome_.denials = denials_.entries();
    redact_outcome(redaction_, outcome_);
    for (Denial& denial : outcome_.denials) make_printable(denial);
    outcome_.duration_ms = std::chrono::duration<double, std::milli>(Clock::now() - began_).count();
  }

  static void note_redactions(Outcome& outcome, const OutputStream& output) {
    for (const RuleCount& rule : output.redactions()) {
      outcome.redactions.count += rule.count;
      auto& rules = outcome.redactions.rules;
      if (std::find(rules.begin(), rules.end(), rule.rule) == rules.end()) {
        rules.push_back(rule.rule);
      }
    }
  }

  bool any_obstacle() const {
    for (const Obstacle& obstacle : input_.facts.obstacles) {
      if (obstacle.present()) return true;
    }
    return !input_.facts.proc_mountable || !input_.facts.seccomp_notify;
  }

  SandboxInput sandbox_input() {
    SandboxInput wanted{*policy_,         input_.request,    input_.facts,
                        input_.inherited, base_environment_, input_.mode == OutputMode::kTerminal,
                        input_.pty_rows,  input_.pty_columns};
    wanted.report_execs = has_unknown_names_;
    return wanted;
  }

  SuperviseInput supervise_input() {
    const SandboxLimits& limits = policy_->sandbox.limits;
    const LaunchPlan& plan = sandbox_->plan;
    SuperviseInput out{plan, *policy_, denials_};
    if (sandbox_->spawned) out.waiting.emplace(std::move(*sandbox_->spawned));
    out.epoll_fd = epoll_.get();
    out.network = network_.get();
    out.is_alone = input_.is_alone;
    out.may_leave = may_leave();
    out.tells_begin = input_.tells_begin;
    out.on_output = input_.on_output;
    if (spill_) {
      out.on_output = [this](OutputChannel channel, std::string_view text) {
        spill_->append(text);
        if (input_.on_output) input_.on_output(channel, text);
      };
    }
    out.mode = input_.mode;
    out.merge = input_.merge;
    out.stdin_fd = input_.stdin_fd;
    out.capture = {policy_->run.output_bytes, policy_->run.limits.output_lines};
    out.redaction = redaction_;
    out.find_result = policy_->run.output.result_json;
    out.timeout_ms = policy_->run.limits.timeout_ms;
    for (const LimitReport& limit : plan.limits) {
      if (limit.limit == "pids" && limit.enforcer == "rlimit") {
        out.watch.pids = limits.pids;
        out.watch.kernel_holds_pids = true;
      }
      if (limit.enforcer != "watch") continue;
      if (limit.limit == "memory") out.watch.memory_bytes = *limits.memory_mb << 20;
      if (limit.limit == "pids") out.watch.pids = limits.pids;
      if (limit.limit == "cpu") out.watch.cpu_ms = limits.cpu_ms;
    }
    out.cgroup_fd = sandbox_->leftovers.cgroup_fd();
    out.signal_fd = input_.signal_fd;
    out.owner_pidfd = input_.owner_pidfd;
    return out;
  }

  // Whether the answer may come before the kernel has taken the sandbox apart: there is one who
  // will wait for that, and nothing of the run is left on the host but stubs.
  bool may_leave() const {
    return input_.warm != nullptr && sandbox_ != nullptr && sandbox_->plan.has_pid_namespace &&
           sandbox_->leftovers.may_linger();
  }

  void describe(Outcome& outcome, const LaunchPlan& plan) const {
    outcome.command = input_.request.command;
    outcome.description = input_.request.description;
    outcome.argv = plan.argv;
    outcome.cwd = plan.cwd;
    outcome.sandbox.profile = policy_->run.name;
    outcome.sandbox.limits = plan.limits;
    outcome.sandbox.degraded = plan.degraded;
    outcome.sandbox.warnings = plan.warnings;
    outcome.sandbox.groups.assign(input_.facts.groups.begin(), input_.facts.groups.end());
  }

  static void note(Outcome& outcome, const LaunchPlan& plan, const Supervised& supervised) {
    for (int i = 0; i < kLayerCount; ++i) {
      if ((supervised.confirmed & (1U << i)) != 0) {
        outcome.sandbox.confirmed.add(static_cast<Layer>(i));
      }
    }
    if (outcome.sandbox.confirmed.has(Layer::kLandlock)) {
      outcome.sandbox.landlock_abi = plan.landlock_abi;
    }
  }

  void fail(const Error& error, RunStatus status = RunStatus::kError) {
    Outcome& outcome = outcome_;
    outcome.command = input_.request.command;
    outcome.description = input_.request.description;
    if (outcome.argv.empty()) outcome.argv = request_argv(*policy_, input_.request);
    if (outcome.cwd.empty()) {
      const auto cwd = request_cwd(*policy_, input_.request);
      outcome.cwd = cwd.ok() ? cwd.value() : *input_.request.cwd;
    }
    outcome.sandbox.profile = policy_->run.name;
    outcome.status = status;
    outcome.error = error;
    outcome.exit_status = error_exit_status(error.code);
    done();
  }

  static StreamText stream(OutputStream& output, bool exact) {
    CapturedText text = output.finish(exact);
    return StreamText{std::move(text.text), text.bytes, text.truncated, text.base64};
  }

  void finish(Outcome& outcome, const LaunchPlan& plan, Supervised& supervised,
              Leftovers& leftovers) {
    note(outcome, plan, supervised);
    outcome.out = stream(supervised.out, policy_->run.output.exact_bytes);
    outcome.err = stream(supervised.err, policy_->run.output.exact_bytes);
    if (const ResultLine* result = supervised.out.result()) {
      outcome.result_json = result->json();
      if (result->invalid_lines() > 0) {
        outcome.sandbox.warnings.push_back(
            "result_json: " + std::to_string(result->invalid_lines()) +
            " __RESULT__ lines are not valid: " + result->problem());
      }
    }
    note_redactions(outcome, supervised.out);
    note_redactions(outcome, supervised.err);
    outcome.usage = {to_ms(supervised.tree_usage.ru_utime), to_ms(supervised.tree_usage.ru_stime),
                     supervised.usage.ru_maxrss};
    if (network_ != nullptr) {
      outcome.connections = network_->connections();
      outcome.unlisted_connections = network_->unlisted_connections();
    }
    for (const ViewProtect& protect : plan.report_created) {
      struct stat info {};
      if (lstat(protect.node.path.c_str(), &info) != 0) continue;
      denials_.add({"mount", "protected_created", protect.node.path, 1, "",
                    "remove it from filesystem.protect"});
    }
    for (const HeldState& then : held_) {
      const std::optional<HeldState> now = state_of(then.path);
      if (now && *now == then) continue;
      denials_.add({"mount", "protected_changed", then.path, 1, "", ""});
    }
    if (guards_git(*policy_)) add_git_changes();
    if (policy_->sandbox.filesystem.overlay) {
      outcome.changes = list_changes(plan.overlays, supervised.overlays);
    }
    // Without a size, or with none at all, no limit of ours was met.
    const std::int64_t tmp_mb = policy_->sandbox.limits.tmp_mb.value_or(0);
    supervised.has_filled_scratch = supervised.has_filled_scratch && tmp_mb > 0;
    if (supervised.has_filled_scratch) {
      denials_.add(
          {"mount", "write", "/tmp", 1, "", "limits.tmp_mb = " + std::to_string(2 * tmp_mb)});
    }
    decide(outcome, supervised, leftovers);
    name_loss(outcome);
  }

  // Why PID 1 ended the run, where it did.
  void name_loss(Outcome& outcome) const {
    const std::vector<Denial> denials = denials_.entries();
    const auto lost = std::find_if(denials.begin(), denials.end(), [](const Denial& denial) {
      return denial.operation == kMaskLostRunEnded;
    });
    if (outcome.status != RunStatus::kKilled || lost == denials.end()) return;
    outcome.error = Error{
        ErrorCode::kPathRefused,
        "replaced or removed on the host while it was hidden or read-only inside: " + lost->target,
        "/filesystem/replaced",
        "leave it alone during the run, hide or protect its directory, or set "
        "filesystem.replaced to restore or report"};
  }

  static bool holds(const Outcome& outcome, std::string_view limit) {
    const auto& limits = outcome.sandbox.limits;
    return std::any_of(limits.begin(), limits.end(),
                       [&](const LimitReport& report) { return report.limit == limit; });
  }

  // A limit that a program met as an error of a call: what it did about that is its own affair.
  static std::string reached(const Supervised& supervised, const Leftovers& leftovers) {
    if (supervised.has_filled_scratch) return "disk";
    if (supervised.has_reached_pids || leftovers.ran_out_of_pids()) return "pids";
    return "";
  }

  void add_missing_programs() {
    const auto path = base_environment_.find("PATH");
    if (sandbox_ == nullptr || path == base_environment_.end()) return;
    for (Denial& missing :
         missing_programs(input_.request, path->second, sandbox_->view.hidden_path)) {
      denials_.add(std::move(missing));
    }
  }

  // Another configuration or other hooks than before the command, however git is led to them.
  void add_git_changes() {
    const std::vector<Denial> denials = denials_.entries();
    for (const std::string& path : git_changes(git_before_, look_at_git(sandbox_->view.roots))) {
      const auto names_it = [&](const Denial& denial) {
        return denial.operation == "protected_created" && is_below(path, denial.target);
      };
      if (std::any_of(denials.begin(), denials.end(), names_it)) continue;
      denials_.add({"mount", "git_redirected", path, 1, "",
                    "remove what lies below .git from filesystem.protect"});
    }
  }

  // What happened → status, exit code, signal, limit and sbx-run's own exit status.
  static void decide(Outcome& outcome, const Supervised& supervised, const Leftovers& leftovers) {
    const int status = supervised.wait_status;
    const int signal = supervised.has_status && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    std::string limit = supervised.limit;
    if (supervised.cause == Cause::kEnded && limit.empty()) {
      // The caller's own limits, and a signal that somebody sent, are none of ours.
      if (signal == SIGXCPU && holds(outcome, "cpu")) limit = "cpu";
      if (signal == SIGXFSZ && holds(outcome, "file")) limit = "file_size";
    }
    if (limit.empty() && leftovers.ran_out_of_memory()) limit = "memory";
    outcome.exit_status = 125;
    if (supervised.cause == Cause::kTimedOut) {
      outcome.status = RunStatus::kTimedOut;
      outcome.exit_status = 124;
    } else if (!limit.empty() &&
               (supervised.cause == Cause::kLimit || signal != 0 || !supervised.has_status)) {
      outcome.status = RunStatus::kLimit;
      outcome.limit = limit;
      outcome.exit_status = 128 + (signal != 0 ? signal : SIGKILL);
    } else if (supervised.cause == Cause::kCancelled) {
      outcome.status = RunStatus::kCancelled;
      outcome.exit_status = 128 + supervised.cancel_signal;
    } else if (supervised.cause == Cause::kOwnerGone) {
      outcome.status = RunStatus::kCancelled;
      outcome.exit_status = 128 + SIGHUP;
    } else if (supervised.cause != Cause::kKilled && supervised.has_status && WIFEXITED(status)) {
      outcome.limit = reached(supervised, leftovers);
      const bool has_failed = WEXITSTATUS(status) != 0 && !outcome.limit.empty();
      outcome.status = has_failed ? RunStatus::kLimit : RunStatus::kExited;
      if (!has_failed) outcome.exit_code = WEXITSTATUS(status);
      outcome.exit_status = WEXITSTATUS(status);
    } else {
      // PID 1 was ended from outside before it could tell: the kernel's OOM killer or a person.
      const bool is_own = supervised.has_status && supervised.cause != Cause::kKilled;
      outcome.status = is_own ? RunStatus::kSignaled : RunStatus::kKilled;
      outcome.signal = signal != 0 ? signal : SIGKILL;
      outcome.exit_status = 128 + outcome.signal;
    }
  }

  RunInput& input_;
  std::optional<Policy> fresh_;  // with the workspace of this run
  const Policy* policy_;
  Outcome outcome_;
  DenialLedger denials_;
  bool is_done_ = false;
  bool probed_ = false;
  bool is_warm_ = false;      // the sandbox waited in the pool
  bool starts_cold_ = false;  // one from there could not be used
  bool has_unknown_names_ = false;
  Clock::time_point began_;
  OwnedFd epoll_;
  Environment base_environment_;
  RedactionInput redaction_;
  std::optional<Spill> spill_;
  Leftovers own_;                // a fresh workspace, and the place beside its boxes
  std::vector<HeldState> held_;  // as the run found them
  GitUse git_before_;
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<RunNetwork> network_;
  std::unique_ptr<Supervisor> supervisor_;  // the first to go: its tree lives on what is above
};

}  // namespace

Outcome error_outcome(const Error& error) {
  Outcome outcome;
  outcome.status = RunStatus::kError;
  outcome.error = error;
  outcome.started_at_ms = unix_ms();
  outcome.exit_status = error_exit_status(error.code);
  if (is_network_refusal(error)) {
    outcome.status = RunStatus::kDenied;
    outcome.exit_status = 126;
    outcome.denials.push_back({"network", "network", "", 1, "", std::string(kNetworkGrant)});
  }
  return outcome;
}

class CommandRun::Impl {
 public:
  explicit Impl(RunInput input) : input_(std::move(input)), run_(input_) {}
  Run& run() { return run_; }

 private:
  RunInput input_;
  Run run_;
};

CommandRun::CommandRun(RunInput input) : impl_(std::make_unique<Impl>(std::move(input))) {}
CommandRun::~CommandRun() = default;

const Outcome& CommandRun::run() {
  Run& run = impl_->run();
  run.start();
  while (!run.is_done()) run.step(-1);
  return run.outcome();
}

void CommandRun::start() { impl_->run().start(); }
void CommandRun::step() { impl_->run().step(0); }
int CommandRun::poll_fd() const { return impl_->run().poll_fd(); }
std::optional<CommandRun::Clock::time_point> CommandRun::deadline() const {
  return impl_->run().deadline();
}
bool CommandRun::is_done() const { return impl_->run().is_done(); }
const Outcome& CommandRun::outcome() const { return impl_->run().outcome(); }

pid_t CommandRun::pid() const {
  Supervisor* const supervisor = impl_->run().supervisor();
  return supervisor == nullptr ? -1 : supervisor->pid();
}
bool CommandRun::has_begun() const {
  const Supervisor* const supervisor = impl_->run().supervisor();
  return supervisor != nullptr && supervisor->has_begun();
}
void CommandRun::cancel() {
  if (Supervisor* const supervisor = impl_->run().supervisor()) supervisor->cancel(SIGTERM);
}
void CommandRun::terminate(std::chrono::milliseconds grace) {
  if (Supervisor* const supervisor = impl_->run().supervisor()) supervisor->terminate(grace);
}
void CommandRun::hold_output(bool hold) {
  if (Supervisor* const supervisor = impl_->run().supervisor()) supervisor->hold_output(hold);
}

Result<LaunchPlan> plan_command(RunInput& input) {
  const SandboxLimits& limits = input.policy.sandbox.limits;
  if (limits.memory_mb || limits.pids) input.facts.cgroup = find_cgroup();
  probe_layers(input.facts);
  const Environment environment =
      make_environment(input.policy, input.inherited, input.facts.user_name);
  Leftovers workspace;  // gone when the plan has been made
  std::optional<Policy> fresh;
  if (input.policy.run.workspace.mode == WorkspaceMode::kFresh) {
    SBX_TRY(const std::string path, workspace.make_workspace(workspace_places(input.inherited)));
    fresh = with_workspace(input.policy, path);
  }
  const Policy& policy = fresh ? *fresh : input.policy;
  SBX_TRY(const std::unique_ptr<Sandbox> sandbox,
          plan_sandbox(SandboxInput{policy, input.request, input.facts, input.inherited,
                                    environment, input.mode == OutputMode::kTerminal,
                                    input.pty_rows, input.pty_columns}));
  return std::move(sandbox->plan);
}

}  // namespace sbx
