// SPDX-License-Identifier: Apache-2.0
// The order of a run.
#include "run/run.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "host/etc_private.h"
#include "host/view.h"
#include "host_files/leftovers.h"
#include "host_files/places.h"
#include "host_files/spill.h"
#include "host_files/workspace_files.h"
#include "policy/exec_size.h"
#include "policy/futile_grants.h"
#include "policy/request.h"
#include "run/redaction.h"
#include "sys/calls.h"

namespace sbx {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostLooks = 16;  // for patterns, of one run

// The limits that nothing but a look holds.
WatchLimits watch_limits(const LaunchPlan& plan, const SandboxLimits& limits) {
  WatchLimits out;
  for (const LimitReport& limit : plan.limits) {
    if (limit.limit == Limit::kPids && limit.enforcer == Enforcer::kRlimit) {
      out.pids = limits.pids;
      out.kernel_holds_pids = true;
    }
    if (limit.enforcer != Enforcer::kWatch) continue;
    if (limit.limit == Limit::kLayer) out.layer_bytes = *limits.layer_mb << 20;
    if (limit.limit == Limit::kMemory) out.memory_bytes = *limits.memory_mb << 20;
    if (limit.limit == Limit::kPids) out.pids = limits.pids;
    if (limit.limit == Limit::kCpu) out.cpu_ms = limits.cpu_ms;
  }
  return out;
}

bool is_terminal(OutputMode mode) {
  return mode == OutputMode::kTerminal || mode == OutputMode::kOwnTerminal;
}

// As execve(2) has it: a quarter of what the stack may be, and 128 KiB in any case.
std::size_t most_exec_bytes() {
  struct rlimit stack {};
  if (getrlimit(RLIMIT_STACK, &stack) != 0) return kMaxExecBytes;
  constexpr std::size_t kLeast = std::size_t{128} << 10;
  return std::clamp<std::size_t>(stack.rlim_cur / 4, kLeast, kMaxExecBytes);
}

constexpr const char* kEtc = "/etc";

// Whether the host may have it: in a place that the sandbox has its own of, that very path, or the
// directory of one that is written; elsewhere the name that it begins with, since awk's `/x/` looks
// like a path as well. Without leaving the place's file system: beyond it a look may wait for a
// server.
bool host_may_have(const guard::RefusedPath& named) {
  if (named.is_made) return true;
  const bool is_private = !named.private_place.empty();
  const std::string& path = named.protect.empty() ? named.path : named.protect;
  std::string rest =
      path.substr(std::min(is_private ? named.private_place.size() + 1 : 1, path.size()));
  if (!is_private) rest.resize(std::min(rest.find('/'), rest.size()));
  const char* const from = is_private ? named.private_place.c_str() : "/";
  const OwnedFd place(open(from, O_PATH | O_DIRECTORY | O_CLOEXEC));
  const sys::OpenHow how{O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
                         sys::kResolveNoSymlinks | sys::kResolveBeneath | RESOLVE_NO_XDEV};
  if (!place.is_open()) return false;
  const auto has = [&](const std::string& part) {
    return OwnedFd(sys::openat2(place.get(), part.c_str(), how)).is_open();
  };
  if (has(rest) || (!is_private && errno == EXDEV)) return true;
  const std::size_t slash = rest.rfind('/');
  return is_private && named.is_written && named.protect.empty() && slash != rest.npos &&
         has(rest.substr(0, slash));
}

}  // namespace

CommandRun::CommandRun(RunInput input)
    : input_(std::move(input)),
      policy_(&input_.policy),
      base_environment_(make_environment(input_.policy, input_.inherited, input_.facts.user_name,
                                         input_.is_answered)) {}

CommandRun::~CommandRun() { expansions_.give_up(); }

const Outcome& CommandRun::run() {
  start();
  while (!is_done_) turn(-1);
  return outcome_;
}

std::optional<CommandRun::Clock::time_point> CommandRun::deadline() const {
  return runs() ? supervisor_->deadline() : std::nullopt;
}
void CommandRun::cancel() {
  expansions_.give_up();
  if (given_up_ == Cause::kNone) given_up_ = Cause::kCancelled;
  if (runs()) supervisor_->cancel(SIGTERM);
}
void CommandRun::terminate(std::chrono::milliseconds grace) {
  expansions_.give_up();
  if (given_up_ == Cause::kNone) given_up_ = Cause::kKilled;
  if (runs()) supervisor_->terminate(grace);
}
void CommandRun::rest(bool on) {
  if (runs()) supervisor_->rest(on);
}

void CommandRun::hold_output(bool hold) {
  if (runs()) supervisor_->hold_output(hold);
}

bool CommandRun::look() {
  began_ = Clock::now();
  outcome_.started_at_ms = unix_ms();
  Result<RedactionInput> redaction = choose_redaction(*policy_, base_environment_);
  if (!redaction.ok()) {
    fail(redaction.error());
    return false;
  }
  redaction_ = std::move(redaction).value();
  return pass_policy();
}

Outcome CommandRun::progress() const {
  Outcome outcome = outcome_;
  if (runs()) note_layers(outcome, sandbox_->plan, supervisor_->confirmed());
  outcome.denials = denials_.entries();
  drop_futile_grants(*policy_, outcome);
  if (network_ != nullptr) outcome.connections = network_->connections();
  return outcome;
}

Outcome CommandRun::progress_and_output() const {
  Outcome outcome = progress();
  if (runs()) note_output(outcome, *policy_, supervisor_->so_far());
  return outcome;
}

void CommandRun::start() {
  if (const Status opened = loop_.open(); !opened.ok()) return fail(opened.error());
  if (!look()) return;
  if (const Status made = make_fresh(); !made.ok()) return fail(made.error());
  if (const Status entered = enter_layer(); !entered.ok()) return fail(entered.error());
  look_for_patterns([this] { go_on(); });
}

void CommandRun::look_for_patterns(std::function<void()> then) {
  if (!has_patterns(*policy_)) return then();
  ++looks_;
  expansions_.reopen();
  const auto looked = std::make_shared<Status>();
  beside(
      [this, looked] {
        if (const auto view = inspect_roots(*policy_, &expansions_); !view.ok()) {
          *looked = view.error();
        }
      },
      [this, looked, then = std::move(then)] {
        expansions_.close();
        if (given_up_ != Cause::kNone) return give_up();
        if (!looked->ok()) return fail(looked->error());
        then();
      });
}

void CommandRun::go_on() {
  if (Status status = prepare_workspace(); !status.ok()) return fail(status.error());
  if (policy_->run.output.spill_mb > 0 && input_.mode == OutputMode::kCapture) {
    spill_.emplace(log_places(input_.inherited, *policy_), outcome_.started_at_ms,
                   static_cast<std::uint64_t>(policy_->run.output.spill_mb) << 20);
  }
  // The request's own files may match.
  if (!input_.request.files.empty()) return look_for_patterns([this] { attempt(); });
  attempt();
}

void CommandRun::beside(const std::function<void()>& work, std::function<void()> then) {
  if (!input_.is_alone) aside_ = Aside::start(work);
  if (aside_ != nullptr) {
    aside_watch_ = loop_.watch(aside_->fd(), EPOLLIN, [](std::uint32_t) {});
    if (aside_watch_.is_on()) {
      then_ = std::move(then);
      return;
    }
    aside_.reset();  // which waits for it
  } else {
    work();
  }
  then();
}

void CommandRun::turn(int longest) {
  if (is_done_) return;
  if (then_) {
    loop_.step(longest);
    if (!aside_->has_ended()) return;
    aside_watch_.stop();
    aside_.reset();
    return std::exchange(then_, nullptr)();
  }
  supervisor_->step(longest);
  if (supervisor_->is_finished()) conclude();
}

// A fresh workspace and the request's files are there before the plan is made, since that looks at
// what there is.
Status CommandRun::make_fresh() {
  if (policy_->run.workspace.mode != WorkspaceMode::kFresh) return {};
  SBX_TRY(const std::string path, own_.make_workspace(workspace_places(input_.inherited)));
  policy_ = &fresh_.emplace(with_workspace(input_.policy, path));
  input_.warm = nullptr;  // what was made ready in advance does not show it
  return {};
}

Status CommandRun::prepare_workspace() {
  SBX_CHECK_OK(make_caches(policy_->sandbox));  // which a layer lies over as well
  SBX_CHECK_OK(open_layer());
  if (input_.request.files.empty()) return {};
  const auto& files = input_.request.files;
  const auto& file_bytes = policy_->sandbox.file_bytes;
  SBX_TRY(const View places, inspect_roots(*policy_, &expansions_));
  if (layer_ != nullptr) return layer_->write_files(files, places, file_bytes);
  const std::string& workspace = policy_->sandbox.workspace;
  if (!policy_->sandbox.filesystem.overlay) {
    return write_workspace_files(workspace, files, places, file_bytes);
  }
  input_.warm = nullptr;  // what was made ready in advance does not show them
  SBX_TRY(laid_, lay_workspace_files(workspace, files, places, file_bytes));
  return {};
}

// The session's, which no action may change from now on.
Status CommandRun::enter_layer() {
  if (policy_->sandbox.layer.empty() || fresh_ || input_.layer == nullptr) return {};
  SBX_CHECK_OK(input_.layer->enter());
  layer_ = input_.layer;
  return {};
}

// Nobody else may be in it at the same time: two mounts of one layer would not see each other.
Status CommandRun::open_layer() {
  const bool has_own = policy_->sandbox.each_layer != EachLayer::kNone;
  if (policy_->sandbox.layer.empty() && !has_own) return {};
  if (fresh_) {
    const std::string flag = has_own ? "--template" : "--layer";
    return Error{ErrorCode::kBadValue, "a fresh workspace has no layers", flag,
                 "leave out " + flag + ", or set workspace.mode = \"persistent\""};
  }
  if (has_own) input_.warm = nullptr;  // what was made ready in advance does not show it
  if (layer_ == nullptr) {
    SBX_TRY(const View places, inspect_roots(*policy_, &expansions_));
    SBX_TRY(
        std::shared_ptr<KeptLayer> layer,
        KeptLayer::open(input_.inherited, *policy_, places,
                        input_.looks == nullptr ? nullptr : &input_.looks->roots,
                        input_.looks == nullptr ? input_.owner_pidfd : input_.looks->owner_pidfd));
    SBX_CHECK_OK(layer->enter());
    layer_ = std::move(layer);
  }
  outcome_.kept = KeptReport{layer_->name(), kept_kind_name(layer_->state().kind)};
  return only_reads() ? Status() : layer_->begin();
}

// Nothing that it does can change a layer.
bool CommandRun::only_reads() const {
  const auto& roots = policy_->sandbox.filesystem.roots;
  return std::none_of(roots.begin(), roots.end(),
                      [](const Root& root) { return root.access == Access::kReadWrite; });
}

std::vector<guard::RefusedPath> CommandRun::told_paths(const guard::Judgement& judgement) const {
  std::vector<guard::RefusedPath> told;
  for (const guard::RefusedPath& named : judgement.refused_paths) {
    const auto& roots = policy_->sandbox.filesystem.roots;
    const bool is_hidden = std::any_of(roots.begin(), roots.end(), [&](const Root& root) {
      return root.access == Access::kNone && is_below(named.path, root.path);
    });
    const bool is_shown =
        named.private_place == kEtc && !is_hidden && !may_be_private(kEtc, named.path);
    if (!is_shown && host_may_have(named)) told.push_back(named);
  }
  return told;
}

// What the command policy says of the request. False: the outcome says why it does not run.
bool CommandRun::pass_policy() {
  const Result<guard::Judgement> judged =
      judge_command(input_.policy, input_.request, base_environment_);
  if (!judged.ok()) {
    fail(judged.error());
    return false;
  }
  const guard::Judgement& judgement = judged.value();
  // What the text does not tell is looked at as it happens.
  has_unknown_names_ = judgement.leaves_names_open;
  for (guard::RefusedPath& named : told_paths(judgement)) named_.push_back(std::move(named.path));
  if (judgement.verdict == Verdict::kAllow) return true;
  if (judgement.verdict == Verdict::kDeny) {
    refuse(judgement);
    return false;
  }
  return is_approved(judgement);
}

bool CommandRun::is_approved(const guard::Judgement& judgement) {
  std::optional<NotApproved> refusal =
      NotApproved{Error{ErrorCode::kNeedsApproval,
                        "a person has to decide: " + judgement.findings.front().reason,
                        judgement.findings.front().id, "nobody can be asked here"},
                  std::nullopt};
  if (input_.decide) {
    const Clock::time_point asked = Clock::now();
    refusal = input_.decide(judgement, judgement.cwd);
    // A person's time is not the command's.
    const Clock::duration waited = Clock::now() - asked;
    began_ += waited;
    outcome_.started_at_ms += std::chrono::duration_cast<std::chrono::milliseconds>(waited).count();
  }
  if (!refusal) return true;
  if (refusal->signal != 0) {
    describe_unbegun();
    outcome_.status = RunStatus::kCancelled;
    outcome_.exit_status = 128 + refusal->signal;
    done();
    return false;
  }
  outcome_.approval = std::move(refusal->approval);
  fail(refusal->error, refusal->error.code == ErrorCode::kNeedsApproval ? RunStatus::kNeedsApproval
                                                                        : RunStatus::kError);
  return false;
}

void CommandRun::refuse(const guard::Judgement& judgement) {
  // Granted already: it is the caller's to mend.
  const auto is_declined = [&](const Finding& finding) {
    return input_.declines_network && finding.grant == kNetworkGrant;
  };
  for (const Finding& finding : judgement.findings) {
    if (finding.verdict != Verdict::kDeny) break;
    const bool by_name = !finding.program.empty() && finding.target.empty();
    denials_.add({Refuser::kCommand, by_name ? finding.program : finding.id, finding.target, 1,
                  finding.program, is_declined(finding) ? "" : finding.grant});
  }
  const Finding& first = judgement.findings.front();
  std::string hint = first.grant.empty() ? "" : "the operator may set " + first.grant;
  if (is_declined(first)) {
    hint = R"(the call may ask for it with "network": true, bash_exec with "allow_network": true)";
  }
  fail(Error{ErrorCode::kDenied, first.reason, first.id, std::move(hint)}, RunStatus::kDenied);
}

// One that waits, or a plan for a new one.
Status CommandRun::find_sandbox(SandboxInput& wanted) {
  if (input_.warm != nullptr && !probed_ && !starts_cold_) {
    sandbox_ = input_.warm->take(wanted);
  }
  is_warm_ = sandbox_ != nullptr;
  if (is_warm_) return {};
  choose_cgroup(*policy_, input_.facts);
  SBX_CHECK_OK(own_.enter_leaf(input_.facts.cgroup));
  SBX_TRY(sandbox_, plan_sandbox(wanted));
  return {};
}

// What it needs on the host.
Status CommandRun::prepare(const SandboxInput& wanted) {
  if (!sandbox_->spawned) SBX_CHECK_OK(prepare_sandbox(wanted, *sandbox_));
  SBX_TRY(network_,
          RunNetwork::create(*policy_, sandbox_->plan, input_.request.command, loop_, denials_));
  if (network_ != nullptr) outcome_.sandbox.published = network_->published();
  return {};
}

void CommandRun::attempt() {
  // What an attempt before this one put in force has ended with it.
  outcome_.sandbox.confirmed = {};
  outcome_.sandbox.landlock_abi = 0;
  supervisor_.reset();
  network_.reset();
  sandbox_.reset();
  denials_ = {};
  SandboxInput wanted = sandbox_input();
  if (const Status found = find_sandbox(wanted); !found.ok()) {
    // Where a pattern begins has come to be meanwhile.
    if (expansions_.has_missed() && looks_ < kMostLooks) {
      return look_for_patterns([this] { attempt(); });
    }
    return fail(found.error());
  }
  describe(outcome_, *policy_, input_.request, sandbox_->plan,
           {input_.facts.groups.begin(), input_.facts.groups.end()});
  if (input_.mode == OutputMode::kPass || input_.mode == OutputMode::kTerminal) {
    std::erase_if(outcome_.sandbox.limits,
                  [](const LimitReport& report) { return report.limit == Limit::kOutput; });
  }
  if (layer_ != nullptr) {
    auto& warnings = outcome_.sandbox.warnings;
    warnings.insert(warnings.end(), layer_->warnings().begin(), layer_->warnings().end());
  }
  if (const Status made = prepare(wanted); !made.ok()) return fail(made.error());
  const auto hold = [this] { held_.emplace(*policy_, sandbox_->view); };
  if (input_.looks != nullptr && input_.looks->git_takes_long) {
    return beside(hold, [this] {
      if (given_up_ != Cause::kNone) return give_up();
      begin();
    });
  }
  hold();
  begin();
}

void CommandRun::begin() {
  if (input_.looks != nullptr) input_.looks->git_takes_long = held_->takes_long();
  supervisor_ = std::make_unique<Supervisor>(supervise_input());
  if (Status status = supervisor_->start(); !status.ok()) {
    const bool is_refusal = status.error().code == ErrorCode::kLayerUnavailable;
    return attempt_failed(status.error(), is_refusal);
  }
  // What the loop needs may fail right after the clone.
  if (supervisor_->is_finished()) conclude();
}

void CommandRun::conclude() {
  Supervised& supervised = supervisor_->collect();
  // Somebody ended it while it waited, or the host has uncovered or moved something of it since
  // it was begun: the command has not begun, and begins in a new one.
  const bool is_stale = supervised.failure && (supervised.failure->sys_errno == ESTALE ||
                                               supervised.failure->code == ErrorCode::kSetupFailed);
  if (is_warm_ && (supervised.was_lost || is_stale)) {
    starts_cold_ = true;
    return attempt();
  }
  if (!supervised.failure) {
    return finish(supervised);
  }
  // What matched is gone, as temporary files go, or another stands there.
  const bool is_other =
      supervised.failure->code == ErrorCode::kSetupFailed &&
      (supervised.failure->sys_errno == ENOENT || supervised.failure->sys_errno == ESTALE);
  if (is_other && has_patterns(*policy_) && looks_ < kMostLooks) {
    return look_for_patterns([this] { attempt(); });
  }
  note_layers(outcome_, sandbox_->plan, supervised.confirmed);
  attempt_failed(*supervised.failure, supervised.failed_layer != kNoLayer &&
                                          supervised.failure->code == ErrorCode::kSetupFailed);
}

// Find out which layers cannot be had, then plan again: with what is left where the policy
// allows that, else for an error that names the cause and the mend.
void CommandRun::attempt_failed(const Error& failure, bool is_refusal) {
  // It lives in the supervisor, which the next attempt replaces.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const Error error = failure;
  const bool has_no_files = error.sys_errno == EMFILE || error.sys_errno == ENFILE;
  if (probed_ || !is_refusal || has_no_files) return fail(error);
  probed_ = true;
  probe_layers(input_.facts);
  if (!any_obstacle()) return fail(error);
  attempt();
}

bool CommandRun::any_obstacle() const {
  for (const Obstacle& obstacle : input_.facts.obstacles) {
    if (obstacle.present()) return true;
  }
  return !input_.facts.proc_mountable || !input_.facts.seccomp_notify;
}

SandboxInput CommandRun::sandbox_input() {
  SandboxInput wanted{*policy_,         input_.request,    input_.facts,
                      input_.inherited, base_environment_, is_terminal(input_.mode),
                      input_.pty_rows,  input_.pty_columns};
  wanted.is_job = input_.mode == OutputMode::kTerminal;
  wanted.layer = layer_.get();
  wanted.report_execs = has_unknown_names_;
  wanted.named = named_;
  wanted.expansions = &expansions_;
  wanted.files = laid_;
  return wanted;
}

SuperviseInput CommandRun::supervise_input() {
  const LaunchPlan& plan = sandbox_->plan;
  SuperviseInput out{plan, *policy_, denials_};
  if (sandbox_->spawned) out.waiting.emplace(std::move(*sandbox_->spawned));
  out.loop = &loop_;
  out.network = network_.get();
  out.is_alone = input_.is_alone && policy_->sandbox.http == nullptr;
  out.may_leave = may_leave();
  out.tells_begin = input_.tells_begin;
  out.on_output = input_.on_output;
  if (spill_) {
    out.on_output = [this](OutputChannel channel, std::string_view text) {
      spill_->append(text);
      if (input_.on_output) input_.on_output(channel, text);
    };
  }
  out.unfinished = input_.unfinished;
  out.mode = input_.mode;
  out.merge = input_.merge;
  out.stdin_fd = input_.stdin_fd;
  out.capture = {policy_->run.output_bytes, policy_->run.limits.output_lines};
  if (const auto most = input_.most_output) {
    out.capture.bytes = std::min(out.capture.bytes.value_or(*most), *most);
  }
  out.redaction = redaction_;
  out.find_result = policy_->run.output.result_json;
  out.timeout_ms = policy_->run.limits.timeout_ms;
  out.watch = watch_limits(plan, policy_->sandbox.limits);
  if (out.watch.layer_bytes) {
    out.watch.layer_bytes = layer_->most_written(*out.watch.layer_bytes);
    out.watch.layer_parts = layer_->written();
  }
  out.cgroup_fd = sandbox_->leftovers.cgroup_fd();
  out.signal_fd = input_.signal_fd;
  out.owner_pidfd = input_.owner_pidfd;
  return out;
}

Result<guard::Judgement> judge_command(const Policy& policy, const Request& request,
                                       const Environment& base) {
  SBX_CHECK_OK(check_exec_size(policy, request, base, most_exec_bytes()));
  return guard::judge(policy, request);
}

Result<guard::Judgement> shown_judgement(const Policy& policy, const Request& request,
                                         const Environment& base) {
  SBX_TRY(const RedactionInput redaction, choose_redaction(policy, base));
  Result<guard::Judgement> judgement = judge_command(policy, request, base);
  std::vector<std::string*> texts;
  if (!judgement.ok()) {
    texts = {&judgement.error().message, &judgement.error().where};
  } else {
    for (Finding& finding : judgement.value().findings) {
      for (std::string* text : {&finding.program, &finding.reason, &finding.target, &finding.grant})
        texts.push_back(text);
    }
  }
  redact_texts(redaction, texts);
  return judgement;
}

}  // namespace sbx
