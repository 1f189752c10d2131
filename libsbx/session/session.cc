// SPDX-License-Identifier: Apache-2.0
// One loop over the loops of all runs.
#include "session/session.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/hex.h"
#include "host_files/remove_tree.h"
#include "policy/request.h"
#include "session/approval_records.h"

namespace sbx {
namespace {

constexpr std::size_t kLeastKeptBytes = std::size_t{64} << 10;

// A refill takes as long as a launch: it would hold up the answer of a command that ends meanwhile,
// and the next request of a client that does not rest.
constexpr std::chrono::milliseconds kPauseAfterAnswer{1};
constexpr std::chrono::milliseconds kPauseAfterStart{50};
// After one, other calls are to be expected.
constexpr std::chrono::milliseconds kCallsCountFor{200};

// RFC 9562, version 4. Empty where there is no randomness.
std::string make_uuid() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    append_hex(text, bytes[i]);
  }
  return text;
}

TimeLimit time_limit_of(TaskKind kind) {
  if (kind == TaskKind::kKeptShell) return TimeLimit::kNone;
  return has_id(kind) ? TimeLimit::kManaged : TimeLimit::kOfPolicy;
}

// What has been closed has left the set.
void leave(Loop::Watch& watch, int fd) {
  if (fd >= 0) {
    watch.stop();
  } else {
    watch.forget();
  }
}

}  // namespace

Session::Session(SessionOptions options)
    : options_(std::move(options)), approvals_(approval_record(options_.inherited)) {
  if (!options_.approved.empty()) approvals_.grant(options_.approved);
  set_up_ = set_up();
}

Session::~Session() {
  for (auto& [key, running] : running_) running.task->cancel();  // all at once, then one by one
  running_.clear();
  for (auto& [key, beside] : besides_) beside->expansions.give_up();
}

// What all runs share: this process moves to where their cgroups can be made, once.
Status Session::set_up() {
  SBX_CHECK_OK(loop_.open());
  looks_.owner_pidfd = options_.owner_pidfd;
  if (options_.owner_pidfd >= 0) {
    owner_ = watch(options_.owner_pidfd, EPOLLIN, [this] { end_owner(); });
    // Unwatched, it might leave everything behind: nothing is started.
    owner_gone_ = !owner_.is_on();
  }
  if (options_.own_workspace) {
    SBX_CHECK_OK(leftovers_.adopt_workspace(options_.policy->sandbox.workspace));
  }
  SBX_CHECK_OK(open_layer());
  choose_cgroup(*options_.policy, options_.facts);
  return leftovers_.enter_leaf(options_.facts.cgroup);
}

Status Session::check_room() const {
  if (resetting_ || owner_gone_) {
    return Error{ErrorCode::kSessionFailed,
                 resetting_ ? "the session is being reset" : "the session's owner has ended", "",
                 resetting_ ? "try again when `reset` has answered" : "open another session"};
  }
  if (running_.size() >= options_.bounds.running) {
    return Error{ErrorCode::kTooMany,
                 std::to_string(running_.size()) + " commands run in this session already", "",
                 "wait for some of them, or kill them"};
  }
  if (kept_bytes_ > options_.bounds.kept_bytes) {
    return Error{ErrorCode::kTooMany,
                 "the commands of this session hold " + std::to_string(kept_bytes_) + " bytes", "",
                 "wait for some of them, or kill them"};
  }
  return {};
}

Result<Session::TaskPointer> Session::start(TaskKind kind, Request request,
                                            const SharedPolicy& base, TerminalSize size) {
  const SharedPolicy& granted = base == nullptr ? options_.policy : base;
  forget_old();
  SBX_CHECK_OK(check_room());
  Result<SharedPolicy> policy = apply_request(granted, request, time_limit_of(kind));
  std::optional<Error> refused;
  if (!policy.ok()) refused = policy.error();
  if (refused && !is_network_refusal(*refused)) return *refused;
  SharedPolicy own = refused ? granted : std::move(policy).value();
  const bool declines_network =
      request.network == false && granted->sandbox.network.mode != NetworkMode::kNone;
  std::string id = has_id(kind) ? make_uuid() : std::string();
  if (has_id(kind) && id.empty()) {
    return call_failed(ErrorCode::kSessionFailed, "getrandom", "getrandom");
  }
  auto task = std::make_shared<Task>(kind, std::move(id), std::move(own), std::move(request), size);
  if (declines_network) task->decline_network();
  if (!refused && !set_up_.ok()) refused = set_up_.error();
  if (refused) {
    refuse(*task, *refused);
    return task;
  }
  const bool has_own_layers = options_.policy->sandbox.each_layer != EachLayer::kNone;
  if (!pool_ && options_.warm > 0 && !has_own_layers) {
    // A waiting sandbox does not see what is written to a layer while it waits: there is one, made
    // while nothing runs.
    pool_.emplace(options_.policy, options_.facts, options_.inherited,
                  layer_ == nullptr ? options_.warm : 1, layer_.get());
  }
  if (layer_ != nullptr && pool_ && base != nullptr) pool_->drop();
  task->start(options_.facts, options_.inherited, pool_ && base == nullptr ? &*pool_ : nullptr,
              approvals_, layer_, &looks_);
  refill_at_ = Clock::now() + kPauseAfterStart;
  if (task->is_running()) follow(next_key_++, task);
  return task;
}

void Session::refuse(Task& task, const Error& error) const {
  task.refuse(error, options_.inherited, options_.facts.user_name);
}

// --- the kept shell ---

Status Session::open_shell() {
  if (kept_shell_ != nullptr) return {};
  KeptShell::Host host;
  host.start = [this]() -> Result<TaskPointer> {
    Request request;
    request.argv = kept_shell_argv(options_.policy->sandbox.commands.shell);
    request.command = "bash (kept)";
    return start(TaskKind::kKeptShell, std::move(request));
  };
  host.note = [this](const TaskPointer& task) { note_change(task); };
  host.variable = [this](const Task& call, const std::string& name) {
    return make_environment(call.policy(), options_.inherited, options_.facts.user_name)[name];
  };
  host.enter = [this](Task& call, const std::string& directory) {
    // Where that cannot be told, as of a path that is too long: where everything is outside.
    const std::string at = directory.empty() ? "/" : directory;
    if (!call.is_judged_in(at)) {
      call.enter_shell(options_.facts, options_.inherited, approvals_, at);
    }
    return call.is_running();
  };
  auto made = std::make_unique<KeptShell>(std::move(host));
  SBX_CHECK_OK(made->open());
  kept_shell_watch_ = watch(made->fd(), EPOLLIN, [] {});  // it is stepped in every step
  if (!kept_shell_watch_.is_on()) return watch_failed();
  kept_shell_ = std::move(made);
  return {};
}

Result<Session::TaskPointer> Session::shell() {
  SBX_CHECK_OK(open_shell());
  return kept_shell_->shell();
}

void Session::note_typing(const Task& task) {
  if (kept_shell_ != nullptr && kept_shell_->is(task)) kept_shell_->show_prompt();
}

Result<Session::TaskPointer> Session::run_in_shell(TaskKind kind, Request request,
                                                   const SharedPolicy& base) {
  const SharedPolicy& granted = base == nullptr ? options_.policy : base;
  forget_old();
  SBX_CHECK_OK(check_room());
  SBX_CHECK_OK(KeptShell::check(request));
  if (options_.policy->sandbox.each_layer != EachLayer::kNone) {
    return Error{ErrorCode::kBadValue, "one shell for all has no layer for each", "/shell",
                 "leave it out, or --template"};
  }
  Result<SharedPolicy> policy = apply_request(granted, request);
  const bool is_refused = !policy.ok() && is_network_refusal(policy.error());
  if (!policy.ok() && !is_refused) return policy.error();
  auto task = std::make_shared<Task>(kind, std::string(), policy.ok() ? policy.value() : granted,
                                     std::move(request));
  task->mark_for_shell();
  if (is_refused) {
    refuse(*task, policy.error());
    return task;
  }
  task->enter_shell(options_.facts, options_.inherited, approvals_,
                    kept_shell_ == nullptr ? "" : kept_shell_->directory());
  if (!task->is_running()) return task;
  SBX_CHECK_OK(open_shell());
  SBX_CHECK_OK(kept_shell_->push(task));
  if (!task->is_running()) std::erase(changed_, task);  // the answer tells it
  return task;
}

Error Session::watch_failed() {
  return call_failed(ErrorCode::kSetupFailed, "epoll_ctl", "epoll_ctl",
                     "raise fs.epoll.max_user_watches");
}

Loop::Watch Session::watch(int fd, std::uint32_t events, std::function<void()> callback) {
  return loop_.watch(fd, events, [this, callback = std::move(callback)](std::uint32_t) {
    is_busy_ = true;
    callback();
  });
}

void Session::follow(Key key, const TaskPointer& task) {
  Loop::Watch watched = watch(task->poll_fd(), EPOLLIN, [this, key] { step_task(key); });
  if (!watched.is_on()) {
    refuse(*task, watch_failed());
    return;
  }
  Running& running = running_[key];
  running.task = task;
  running.watch = std::move(watched);
  kept_bytes_ += task->kept_bytes();
  keys_[task.get()] = key;
  set_timer(key, running);
  write_stdin(*task);
  watch_screen(task);
  if (!has_id(task->kind())) return;
  tasks_[task->id()] = task;
  order_.push_back(task);
}

// It is followed beyond the task's end, until all of the output is on it.
void Session::watch_screen(const TaskPointer& task) {
  if (task->terminal() == nullptr || task->terminal()->is_done()) return;
  Loop::Watch watched = watch(task->terminal()->poll_fd(), EPOLLIN, [] {});  // likewise
  if (watched.is_on()) screens_.push_back({task, std::move(watched)});
}

void Session::step_screens() {
  for (Screen& screen : screens_) {
    TaskTerminal& terminal = *screen.task->terminal();
    terminal.step();
    if (terminal.is_done()) leave(screen.watch, terminal.poll_fd());
  }
  std::erase_if(screens_, [](const Screen& screen) { return screen.task->terminal()->is_done(); });
}

Session::TaskPointer Session::find(std::string_view id) const {
  const auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : found->second;
}

void Session::forget(Task& task) {
  task.mark_never_began();
  const auto found = tasks_.find(task.id());
  if (found == tasks_.end() || task.is_running()) return;
  kept_bytes_ -= task.kept_bytes();
  --ended_;
  std::erase(order_, found->second);
  tasks_.erase(found);
}

std::vector<Session::TaskPointer> Session::tasks() const { return {order_.begin(), order_.end()}; }

void Session::set_timer(Key key, Running& running) {
  const auto deadline = running.task->deadline();
  if (deadline == running.deadline) return;
  running.deadline = deadline;
  running.timer.stop();
  if (!deadline) return;
  running.timer = loop_.at(*deadline, [this, key, &running] {
    is_busy_ = true;
    running.deadline.reset();
    step_task(key);
  });
}

void Session::terminate(Task& task, std::chrono::milliseconds grace) {
  if (kept_shell_ != nullptr && kept_shell_->is(task)) kept_shell_->close(Cause::kKilled);
  const auto key = keys_.find(&task);
  if (key == keys_.end()) return;
  task.terminate(grace);
  set_timer(key->second, running_.at(key->second));
}

void Session::cancel(Task& task) {
  if (kept_shell_ != nullptr) kept_shell_->cancel(task);
  const auto key = keys_.find(&task);
  if (key == keys_.end()) return;
  task.cancel();
  set_timer(key->second, running_.at(key->second));
}

void Session::write_stdin(Task& task) {
  const auto key = keys_.find(&task);
  if (key == keys_.end()) return;
  Running& running = running_.at(key->second);
  task.input().write();
  const bool wanted = task.input().is_waiting();
  if (wanted == running.stdin_watch.is_on()) return;
  if (!wanted) return leave(running.stdin_watch, task.input().fd());
  running.stdin_watch =
      watch(task.input().fd(), EPOLLOUT, [this, own = key->second] { step_task(own); });
  if (!running.stdin_watch.is_on()) task.input().end(watch_failed());
}

std::optional<Session::Clock::time_point> Session::deadline() const {
  if (!changed_.empty() || (resetting_ && running_.empty() && !is_clearing_)) {
    return Clock::now();
  }
  std::optional<Clock::time_point> until = loop_.deadline();
  for (const Screen& screen : screens_) {
    const auto patience = screen.task->terminal()->deadline();
    if (patience && (!until || *patience < *until)) until = patience;
  }
  if (kept_shell_ != nullptr) {
    const auto look = kept_shell_->deadline();
    if (look && (!until || *look < *until)) until = look;
  }
  if (may_refill() && (!until || refill_at_ < *until)) until = refill_at_;
  return until;
}

// Whoever has started a task waits until it has begun.
bool Session::may_refill() const {
  if (layer_ != nullptr && (!running_.empty() || layer_->is_busy())) return false;
  return pool_ && !pool_->is_settled() && (order_.empty() || order_.back()->has_begun());
}

void Session::refill() {
  pool_->refill();
  // What was let go is on its way out.
  if (pool_->is_full()) refill_at_ = Clock::now() + kPauseAfterAnswer;
}

void Session::step() {
  is_busy_ = false;
  loop_.step();
  step_screens();
  if (kept_shell_ != nullptr) kept_shell_->step();
  const bool is_quiet = !is_busy_ && changed_.empty();
  if (is_quiet && may_refill() && Clock::now() >= refill_at_) refill();
  if (resetting_ && running_.empty() && !is_clearing_) finish_reset();
  forget_old();
}

void Session::step_task(Key key) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  Running& running = found->second;
  const TaskPointer task = running.task;
  const std::size_t kept = task->kept_bytes();
  const std::uint64_t written = task->output().end();
  const auto begun = Clock::now();
  task->step();
  write_stdin(*task);
  if (task->output().end() != written) note_change(task);
  kept_bytes_ += task->kept_bytes() - kept;  // modulo 2^64 where it shrank
  keep_within_bytes(*task);
  if (task->is_running()) {
    set_timer(key, running);
    rest(running, begun);
    return;
  }
  leave(running.watch, task->poll_fd());
  leave(running.stdin_watch, task->input().fd());
  running_.erase(found);
  keys_.erase(task.get());
  if (running_.empty()) {
    // With none left the next one would have to be made by demand, with all of its set-up.
    const bool is_urgent = pool_ && pool_->is_empty();
    refill_at_ = Clock::now() + (is_urgent ? std::chrono::milliseconds(0) : kPauseAfterAnswer);
  }
  if (has_id(task->kind())) {
    ++ended_;
  } else {
    kept_bytes_ -= task->kept_bytes();
  }
  note_change(task);
}

void Session::charge(Task& task, Clock::time_point begun) {
  const auto key = keys_.find(&task);
  if (key != keys_.end()) rest(running_.at(key->second), begun);
}

// The others' turn. What has a deadline of its own is not held up.
void Session::rest(Running& running, Clock::time_point begun) {
  if (running_.size() < 2 && begun - called_at_ > kCallsCountFor) return;
  const auto now = Clock::now();
  const auto pause = running.share.rest_after(now, now - begun);
  if (pause == Clock::duration(0)) return;
  running.watch.want(0);
  running.task->rest(true);
  running.rest = loop_.at(now + pause, [&running] {
    running.task->rest(false);
    running.watch.want(EPOLLIN);
  });
}

void Session::note_change(const TaskPointer& task) {
  if (std::find(changed_.begin(), changed_.end(), task) == changed_.end()) changed_.push_back(task);
}

std::vector<Session::TaskPointer> Session::take_changed() { return std::exchange(changed_, {}); }

void Session::end_owner() {
  owner_.stop();
  owner_gone_ = true;
  end_all("owner", std::chrono::milliseconds(0));
}

void Session::end_all(const std::string& reason, std::chrono::milliseconds grace) {
  if (kept_shell_ != nullptr) kept_shell_->close(Cause::kCancelled);
  for (auto& [key, running] : running_) {
    Task& task = *running.task;
    if (task.cancel_reason().empty()) task.mark_cancelled(reason);
    if (has_id(task.kind()) && grace.count() > 0) {
      task.terminate(grace);
    } else {
      task.cancel();
    }
    set_timer(key, running);
    note_change(running.task);
  }
}

void Session::reset(std::chrono::milliseconds grace) {
  resetting_ = true;
  end_all("reset", grace);
}

void Session::finish_reset() {
  pool_.reset();  // what holds a place in the workspace for it is about to go
  is_cleared_ = true;
  if (!options_.own_workspace) return end_reset();
  is_clearing_ = true;
  auto beside = std::make_unique<Beside>();
  beside->then = [this] { end_reset(); };
  // As much as the commands have made.
  go_beside(std::move(beside),
            [this] { is_cleared_ = clear_tree(options_.policy->sandbox.workspace); });
}

void Session::end_reset() {
  resetting_ = is_clearing_ = false;
  tasks_.clear();
  order_.clear();
  ended_ = 0;
  kept_bytes_ = 0;
  reset_status_ = {};
  if (is_cleared_) return;
  reset_status_ = Error{ErrorCode::kSessionFailed,
                        "the workspace cannot be cleared: " + options_.policy->sandbox.workspace,
                        "", "remove by hand what is left in it"};
}

void Session::forget_old() {
  const auto now = Clock::now();
  std::size_t ended = ended_;
  const auto too_much = [&] {
    return ended > options_.bounds.ended || kept_bytes_ > options_.bounds.kept_bytes;
  };
  if (!too_much() && now < look_for_old_at_) return;
  look_for_old_at_ = now + std::chrono::seconds(1);
  std::erase_if(order_, [&](const TaskPointer& task) {
    if (task->is_running()) return false;
    if (!too_much() && now - task->ended_at() <= options_.bounds.ended_for) return false;
    --ended;
    kept_bytes_ -= task->kept_bytes();
    tasks_.erase(task->id());
    return true;
  });
  ended_ = ended;
}

// The commands together must not take the session's memory: once no ended task can be forgotten,
// those that go on writing keep less.
void Session::keep_within_bytes(Task& task) {
  if (kept_bytes_ <= options_.bounds.kept_bytes) return;
  forget_old();
  if (kept_bytes_ <= options_.bounds.kept_bytes) return;
  const std::size_t kept = task.output().kept_bytes();
  task.output().lower_limit(std::max(kept / 4, kLeastKeptBytes));
  kept_bytes_ -= kept - task.output().kept_bytes();
}

}  // namespace sbx
