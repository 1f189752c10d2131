// SPDX-License-Identifier: Apache-2.0
// Words go one way, what is said of them the other; what calls write comes over pipes of their own.
#include "session/kept_shell.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/by_number.h"
#include "base/utf8.h"
#include "model/exit_status.h"
#include "policy/futile_grants.h"
#include "run/answer.h"
#include "run/caller_terminal.h"
#include "session/shell_usage.h"

namespace sbx {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostCalls = 1000;                     // that wait
constexpr std::size_t kMostWaiting = std::size_t{64} << 20;  // bytes of them
constexpr std::size_t kLongestMessage = std::size_t{16} << 10;
constexpr std::size_t kMostBackground = 64;  // pipes that calls have left open
constexpr std::size_t kPipeBytes = std::size_t{1} << 20;
constexpr milliseconds kLookForDriver{4};
constexpr int kMostDriverLooks = 5000;
constexpr milliseconds kLookAgain{60};
constexpr milliseconds kWakeAgain{500};
constexpr int kGentleLooks = 3;  // ^C, then SIGKILL
constexpr int kMostLooks = 20;
constexpr int kMostLooksBefore = 500;  // the call has begun
constexpr int kMostAlone = 3;
constexpr int kMostIdle = 30;
constexpr int kMostTries = 50;               // to begin a call
constexpr milliseconds kMostSilence{10000};  // between its end and the next word

OwnedFd open_again(int fd, int flags) {
  const std::string path = by_number(fd);
  return OwnedFd(open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
}

// At most so many bytes. False at the end.
bool take_some(int fd, OutputStream& stream, std::size_t most) {
  std::array<char, 65536> buffer{};
  while (most > 0) {
    const ssize_t size = read(fd, buffer.data(), std::min(most, buffer.size()));
    if (size == 0) return false;
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    stream.append({buffer.data(), static_cast<std::size_t>(size)});
    most -= static_cast<std::size_t>(size);
  }
  return true;
}

std::vector<Denial> since(const std::vector<Denial>& before, std::vector<Denial> now) {
  for (const Denial& old : before) {
    for (Denial& denial : now) {
      if (denial.layer == old.layer && denial.operation == old.operation &&
          denial.target == old.target && denial.program == old.program) {
        denial.count -= std::min(denial.count, old.count);
      }
    }
  }
  std::erase_if(now, [](const Denial& denial) { return denial.count == 0; });
  return now;
}

CaptureLimits capture_limits(const Policy& policy) {
  return {policy.run.output_bytes, policy.run.limits.output_lines};
}

}  // namespace

KeptShell::Call::Call(TaskPointer of)
    : task(std::move(of)),
      result(capture_limits(task->policy()), task->redaction(),
             task->policy().run.output.result_json) {}

KeptShell::~KeptShell() = default;

void KeptShell::step() {
  loop_.step();
  advance();
}

// --- the shell ---

Result<KeptShell::TaskPointer> KeptShell::shell() {
  if (shell_ != nullptr) return shell_;
  SBX_TRY(shell_, host_.start());
  if (!shell_->is_running()) {
    const TaskPointer failed = std::exchange(shell_, nullptr);
    if (failed->outcome()->error) return *failed->outcome()->error;
    return Error{ErrorCode::kSetupFailed, "the shell cannot be started", "shell", ""};
  }
  state_ = State::kStarting;
  said_ = 0;
  looks_ = 0;
  last_status_ = 0;
  flags_.clear();
  killed_for_.clear();
  look_ = loop_.after(kLookForDriver, [this] { look_for_driver(); });
  return shell_;
}

void KeptShell::look_for_driver() {
  if (state_ != State::kStarting) return;
  if (take_driver().ok()) return;
  if (++looks_ < kMostDriverLooks) {
    look_ = loop_.after(kLookForDriver, [this] { look_for_driver(); });
    return;
  }
  killed_for_ = "the shell did not come up";
  shell_->cancel();
}

Status KeptShell::take_driver() {
  const Error missing{ErrorCode::kSetupFailed, "the shell is not there yet", "shell", ""};
  if (shell_->terminal() == nullptr || !shell_->terminal()->has_master()) return missing;
  if (!process_.find(shell_->terminal()->master())) return missing;
  SBX_TRY(OwnedFd says, process_.open_pipe(kShellSaysFd, O_RDONLY));
  SBX_TRY(words_, process_.open_pipe(kShellWordsFd, O_WRONLY));
  fcntl(words_.get(), F_SETPIPE_SZ, kPipeBytes);
  says_ = std::move(says);
  heard_.clear();
  sending_.clear();
  says_watch_ = loop_.watch(says_.get(), EPOLLIN, [this](std::uint32_t) { hear(); });
  words_watch_ = loop_.watch(words_.get(), 0, [this](std::uint32_t) { send(); });
  return says_watch_.is_on() && words_watch_.is_on() ? Status() : missing;
}

void KeptShell::say(std::string word) {
  word_ = std::move(word);
  again_ = 0;
  send_word(numbered_word(++said_, word_));
}

void KeptShell::say_again() {
  if (state_ != State::kOpening && state_ != State::kRunning && state_ != State::kReturning) return;
  int waiting = 0;
  // It takes what is there first, and says that it is ready once more.
  if (!sending_.empty() || ioctl(words_.get(), FIONREAD, &waiting) != 0 || waiting > 0) return;
  if (++again_ > kMostTries) return give_up();
  if (state_ == State::kRunning && call_->cause != Cause::kNone) word_ = forget_pipes_word();
  send_word(numbered_word(said_, word_));
}

void KeptShell::send_word(std::string_view word) {
  sending_ += word;
  sending_ += '\0';
  send();
}

void KeptShell::send() {
  (void)write_some(words_.get(), sending_);
  words_watch_.want(sending_.empty() ? 0U : std::uint32_t{EPOLLOUT});
}

void KeptShell::feed() {
  Call& call = *call_;
  if (write_some(call.in.get(), call.in_rest) && !call.in_rest.empty()) return;
  call.in_watch.stop();
  call.in.reset();
}

void KeptShell::hear() {
  std::array<char, 4096> buffer{};
  const ssize_t size = read(says_.get(), buffer.data(), buffer.size());
  if (size > 0) heard_.append(buffer.data(), static_cast<std::size_t>(size));
  for (std::size_t end = heard_.find('\0'); end != std::string::npos; end = heard_.find('\0')) {
    const auto message = read_shell_message(std::string_view(heard_).substr(0, end));
    heard_.erase(0, end + 1);
    if (message) std::visit([this](const auto& said) { take(said); }, *message);
    if (shell_ == nullptr) return;
  }
  if (heard_.size() <= kLongestMessage) return;
  heard_.clear();
}

void KeptShell::take(const ShellReady& ready) {
  if (ready.word != said_) {
    return state_ == State::kRunning && call_->has_begun ? give_up() : say_again();
  }
  switch (state_) {
    case State::kOpened:
      return run_call();
    case State::kRunning: {
      flags_ = ready.flags;
      if (!call_->has_begun && call_->cause == Cause::kNone && ++call_->tries < kMostTries) {
        return say(word_);
      }
      const bool has_left = call_->end && call_->end->was_in_cwd;
      const bool has_not_run = has_left && call_->end->ran != said_;
      if (has_not_run || (!call_->has_begun && call_->cause == Cause::kNone)) {
        call_->end.reset();
        return give_up();
      }
      look_.stop();
      if (!call_->end) last_status_ = ready.status;
      const bool has_entered = call_->has_begun && (!call_->end || call_->end->was_in_cwd);
      const bool returns = has_entered && call_->task->request().cwd.has_value();
      if (!call_->end) is_in_prompt_ = false;
      finish_call(W_EXITCODE(last_status_, 0), {});
      state_ = returns ? State::kReturning : State::kReady;
      if (returns) say(return_word());
      return;
    }
    case State::kOpening:  // cut off before there were any
      if (call_->cause == Cause::kNone && ++call_->tries < kMostTries) {
        return say_pipes();
      }
      if (call_->cause == Cause::kNone) {
        call_->error = Error{ErrorCode::kSetupFailed, "the kept shell has no pipes for the call",
                             "shell", "see what it has open, and its ulimit -n"};
        return give_up();
      }
      finish_call(0, {});
      state_ = State::kReady;
      return;
    case State::kStarting:
    case State::kPrompt:
    case State::kWaking:
      flags_ = ready.flags;
      last_status_ = ready.status;
      is_in_prompt_ = process_.is_at_prompt();
      state_ = State::kReady;
      return;
    case State::kReturning:
      state_ = State::kReady;
      return;
    default:
      return;
  }
}

void KeptShell::say_pipes() {
  const Request& request = call_->task->request();
  say(pipes_word(request.merge, request.stdin_text.has_value()));
}

void KeptShell::take(const ShellPipes& pipes) {
  if (state_ != State::kOpening) return;
  const Request& request = call_->task->request();
  const bool merge = request.merge;
  // Ours to write too, so that it does not end before the call has begun.
  Result<OwnedFd> out = process_.open_pipe(pipes.out, O_RDWR);
  Result<OwnedFd> err = merge ? Result<OwnedFd>(OwnedFd()) : process_.open_pipe(pipes.err, O_RDWR);
  Result<OwnedFd> in = request.stdin_text ? process_.open_pipe(pipes.in, O_WRONLY) : OwnedFd();
  if (!out.ok() || !err.ok() || !in.ok()) return;
  call_->out = std::move(out).value();
  call_->err = std::move(err).value();
  call_->in = std::move(in).value();
  Call& call = *call_;
  const auto watch = [&](OwnedFd& fd, Loop::Watch& on, OutputStream& stream) {
    if (!fd.is_open()) return;
    on = loop_.watch(fd.get(), EPOLLIN, [&fd, &stream](std::uint32_t) {
      (void)take_some(fd.get(), stream, kPipeBytes);
    });
  };
  watch(call.out, call.out_watch, call.result.out);
  watch(call.err, call.err_watch, call.result.err);
  if (call.in.is_open()) {
    call.in_rest = *request.stdin_text;
    call.in_watch = loop_.watch(call.in.get(), EPOLLOUT, [this](std::uint32_t) { feed(); });
  }
  // Where it says that it is: its variable is the command's to spoil.
  call.cwd = pipes.cwd.starts_with('/') ? repair_utf8(pipes.cwd) : call.task->cwd();
  state_ = State::kOpened;
}

void KeptShell::take(const ShellBegun& begun) {
  if (state_ != State::kRunning || begun.word != said_) return;
  call_->has_begun = true;
  call_->looks = 0;
  (void)process_.has_worked(call_->shell_time);
}

void KeptShell::take(const ShellEnd& end) {
  if (state_ != State::kRunning) return;
  call_->end = end;
  last_status_ = end.status;
  look_ = loop_.after(kMostSilence, [this] {
    if (state_ == State::kRunning && call_->end && process_.is_alone()) give_up();
  });
}

// --- calls ---

Status KeptShell::check(const Request& request) {
  const struct {
    bool is_wrong;
    const char* where;
    const char* why;
  } rows[] = {
      {!request.argv.empty(), "/argv", "a kept shell runs a command"},
      {!request.files.empty(), "/files", "a kept shell has begun already"},
      {request.file_kb.has_value(), "/file_kb", "a kept shell has the limit of the session"},
      {request.network == false, "/network", "a kept shell has the network of the session"},
  };
  for (const auto& row : rows) {
    if (!row.is_wrong) continue;
    return Error{ErrorCode::kBadValue, row.why, row.where, R"(leave it out, or "shell")"};
  }
  return {};
}

Status KeptShell::push(const TaskPointer& call) {
  const Request& request = call->request();
  std::size_t size = call->kept_bytes();
  for (const TaskPointer& waiting : queue_) size += waiting->kept_bytes();
  for (const auto& [name, value] : request.env) size += name.size() + value.size();
  if (size > kMostWaiting || queue_.size() >= kMostCalls) {
    return Error{ErrorCode::kTooMany, "the kept shell has too much to do", "",
                 "wait for its answers"};
  }
  queue_.push_back(call);
  advance();
  return {};
}

void KeptShell::advance() {
  if (shell_ != nullptr && !shell_->is_running()) return note_end();
  if (call_ != nullptr || (queue_.empty() && state_ == State::kNone)) return;
  if (state_ == State::kNone) {
    if (const Result<TaskPointer> started = shell(); !started.ok()) fail_all(started.error());
    return;
  }
  if (state_ == State::kPrompt && !queue_.empty()) return wake();
  if (state_ != State::kReady) return;
  if (queue_.empty()) {
    if (!wants_prompt_) return;
    state_ = State::kPrompt;
    if (is_in_prompt_) process_.restore_prompt();
    return send_word(prompt_word(flags_));
  }
  call_ = std::make_unique<Call>(queue_.front());
  queue_.pop_front();
  Call& call = *call_;
  const Outcome so_far = shell_->progress();
  call.denied_before = so_far.denials;
  call.connected_before = so_far.connections.size();
  call.used_before = usage_so_far(process_.pid());
  if (call.task->kind() == TaskKind::kStreamedRun) {
    const auto sink = [this, task = call.task](OutputChannel channel) {
      return [this, task, channel](std::string_view text) {
        task->output().append(channel, text);
        host_.note(task);
      };
    };
    call.result.out.set_sink(sink(OutputChannel::kOut));
    call.result.err.set_sink(sink(OutputChannel::kErr));
  }
  if (const auto limit = call.task->policy().run.limits.timeout_ms) {
    call.timer = loop_.after(milliseconds(*limit), [this] { stop(Cause::kTimedOut); });
  }
  state_ = State::kOpening;
  say_pipes();
}

void KeptShell::run_call() {
  if (call_->cause != Cause::kNone) {
    finish_call(0, {});
    state_ = State::kReturning;
    return say(forget_pipes_word());
  }
  // Nothing else of the shell runs: it stays there until the call has begun.
  if (!host_.enter(*call_->task, process_.directory())) {
    const TaskPointer refused = call_->task;
    call_.reset();
    state_ = State::kReturning;
    say(forget_pipes_word());
    return host_.note(refused);
  }
  const Request& request = call_->task->request();
  ShellCall wanted{request.command, {},    request.stdin_text.has_value(), "", request.merge,
                   last_status_,    flags_};
  for (const auto& [name, value] : request.env) {
    wanted.env.emplace_back(name, host_.variable(*call_->task, name));
  }
  if (request.cwd) wanted.cwd = call_->cwd = call_->task->cwd();
  call_->before = process_.children();
  state_ = State::kRunning;
  say(call_word(wanted));
}

// Redacted as all that the shell writes, and into its own output.
void KeptShell::keep_background(const OwnedFd& of, OutputChannel channel) {
  if (!of.is_open() || shell_ == nullptr) return;
  OwnedFd fd = open_again(of.get(), O_RDONLY);
  if (background_.size() >= kMostBackground) background_.pop_front();
  CaptureLimits limits;
  limits.bytes = 0;
  background_.push_back({std::move(fd), OutputStream(limits, call_->task->redaction(), false), {}});
  const auto at = std::prev(background_.end());
  at->stream.set_sink([this, channel](std::string_view text) {
    if (shell_ == nullptr || !shell_->is_running()) return;
    shell_->output().append(channel, text);
    host_.note(shell_);
  });
  at->watch = loop_.watch(at->fd.get(), EPOLLIN, [this, at](std::uint32_t) {
    if (take_some(at->fd.get(), at->stream, kPipeBytes)) return;
    (void)at->stream.finish(false);
    background_.erase(at);
  });
}

void KeptShell::finish_call(int wait_status, ShellReport report) {
  Call& call = *call_;
  // What was written before the end is in the pipes by now; the rest is not the call's.
  for (auto [fd, stream] :
       {std::pair(&call.out, &call.result.out), {&call.err, &call.result.err}}) {
    int waiting = 0;
    if (fd->is_open() && ioctl(fd->get(), FIONREAD, &waiting) == 0 && waiting > 0) {
      (void)take_some(fd->get(), *stream, static_cast<std::size_t>(waiting));
    }
  }
  Ending& ending = call.result.ending;
  ending.cause = call.cause == Cause::kNone ? Cause::kEnded : call.cause;
  ending.cancel_signal = SIGTERM;
  ending.wait_status = wait_status;
  Outcome outcome = shell_->progress();
  outcome.denials = since(call.denied_before, std::move(outcome.denials));
  auto& connections = outcome.connections;  // the oldest first, and none is forgotten
  const std::size_t old = std::min(call.connected_before, connections.size());
  connections.erase(connections.begin(), connections.begin() + static_cast<std::ptrdiff_t>(old));
  const Usage used = shell_->is_running() ? usage_so_far(process_.pid()) : outcome.usage;
  take_output(outcome, call.task->policy(), call.result);
  decide(outcome, ending);
  outcome.cwd = call.cwd;
  for (Denial& denial : shell_->refusals(*call.task, outcome, process_.pid())) {
    outcome.denials.push_back(std::move(denial));
  }
  drop_futile_grants(call.task->policy(), outcome);
  for (Denial& denial : outcome.denials) make_printable(denial);
  outcome.usage = usage_since(call.used_before, used);
  outcome.error.reset();
  if (call.end && !call.end->was_in_cwd) {
    call.error =
        Error{ErrorCode::kCwdNotVisible, "the kept shell cannot enter the directory: " + call.cwd,
              "/cwd", "make it, or show it with the profile's roots"};
  }
  if (call.error) {
    outcome.status = RunStatus::kError;
    outcome.exit_code.reset();
    outcome.exit_status = error_exit_status(call.error->code);
    outcome.error = call.error;
  }
  keep_background(call.out, OutputChannel::kOut);
  keep_background(call.err, OutputChannel::kErr);
  const TaskPointer task = call.task;
  call_.reset();
  conclude(task, std::move(outcome), std::move(report));
}

void KeptShell::conclude(const TaskPointer& call, Outcome outcome, ShellReport report) {
  call->conclude(std::move(outcome), std::move(report));
  host_.note(call);
}

void KeptShell::fail_all(const Error& error) {
  for (const TaskPointer& call : std::exchange(queue_, {})) {
    conclude(call, error_outcome(error), {false, true, error.message});
  }
}

void KeptShell::cancel(const Task& call) {
  if (call_ != nullptr && call_->task.get() == &call) return stop(Cause::kCancelled);
  const auto at = std::find_if(queue_.begin(), queue_.end(),
                               [&](const TaskPointer& waiting) { return waiting.get() == &call; });
  if (at == queue_.end()) return;
  const TaskPointer task = *at;
  queue_.erase(at);
  Outcome outcome =
      error_outcome(Error{ErrorCode::kCancelled, "cancelled before its turn", "", ""});
  outcome.status = RunStatus::kCancelled;
  conclude(task, std::move(outcome), {});
}

// --- the end of a call that does not end ---

void KeptShell::stop(Cause cause) {
  if (call_ == nullptr || call_->cause != Cause::kNone) return;
  call_->cause = cause;
  press();
}

// A command has spoiled what the shell takes its words by.
void KeptShell::give_up() {
  killed_for_ = "a command has left the shell unable to take calls";
  if (call_ != nullptr && !call_->end && !call_->error) {
    call_->error = Error{ErrorCode::kSetupFailed, "the kept shell could not run the command",
                         "shell", "the next call gets a new one"};
  }
  state_ = State::kEnding;
  shell_->cancel();
}

// What is in the foreground goes first, by ^C and then by force; the shell only where it is at work
// itself. One that has not begun does not begin any more, or soon.
void KeptShell::press() {
  if (call_ == nullptr || shell_ == nullptr) return;
  Call& call = *call_;
  const bool is_alone = process_.is_alone();
  const bool is_at_work = process_.has_worked(call.shell_time);
  if (!is_alone && call.has_begun) call.alone = 0;
  // One that has not begun is idle where the shell takes no words, whoever else may.
  if ((is_alone || !call.has_begun) && is_at_work == call.has_begun) ++call.alone;
  if (call.alone > (call.has_begun ? kMostAlone : kMostIdle) ||
      ++call.looks > (call.has_begun ? kMostLooks : kMostLooksBefore)) {
    killed_for_ = "the shell itself did not end the command in its time";
    shell_->cancel();
    return;
  }
  if (!call.has_begun) {
    // It has not been asked to run, or takes ^C for its own.
  } else if (call.looks <= kGentleLooks && !(is_alone && (is_at_work || call.end))) {
    process_.interrupt();
  } else if (is_alone && !is_at_work && call.looks > 1) {
    // It may be at the prompt that a PROMPT_COMMAND of the call's own has led to.
    process_.press(kShellWakeKey);
  } else {
    process_.kill_front(call.before);
  }
  call.timer = loop_.after(kLookAgain, [this] { press(); });
}

// --- its prompt, and its end ---

void KeptShell::show_prompt() {
  wants_prompt_ = true;
  advance();
}

// While something else is in the foreground, the shell comes by itself before its next prompt.
void KeptShell::wake() {
  process_.press(kShellWakeKey);
  state_ = State::kWaking;
  look_ = loop_.after(kWakeAgain, [this] {
    if (state_ == State::kWaking) wake();
  });
}

void KeptShell::note_end() {
  if (shell_ == nullptr || shell_->is_running()) return;
  const Outcome ended = *shell_->outcome();
  words_watch_.stop();
  says_watch_.stop();
  look_.stop();
  words_.reset();
  says_.reset();
  std::string reason = killed_for_;
  if (reason.empty() && ended.exit_code) {
    reason = "the command ended the shell (exit, exec or set -e) with code " +
             std::to_string(*ended.exit_code);
  } else if (reason.empty()) {
    reason = "the shell ended: " + std::string(run_status_name(ended.status));
  }
  if (call_ != nullptr) {
    // Nothing runs any more: what is in the pipes is all.
    const int wait_status = ended.exit_code ? W_EXITCODE(*ended.exit_code, 0)
                                            : (ended.signal != 0 ? ended.signal : SIGKILL);
    const bool has_ended = !killed_for_.empty() && call_->end;
    if (!has_ended && !ended.exit_code && call_->cause == Cause::kNone && ended.signal == 0) {
      call_->cause = ended.limit ? Cause::kLimit : Cause::kKilled;
      call_->result.ending.limit = ended.limit;
    }
    finish_call(has_ended ? W_EXITCODE(call_->end->status, 0) : wait_status, {false, true, reason});
  } else if (state_ == State::kStarting) {
    fail_all(ended.error ? *ended.error
                         : Error{ErrorCode::kSetupFailed, "the kept shell did not start: " + reason,
                                 "shell", "it is bash, and needs /proc"});
  }
  background_.clear();
  state_ = State::kNone;
  wants_prompt_ = false;
  shell_.reset();
  advance();
}

void KeptShell::close(Cause cause) {
  while (cause == Cause::kCancelled && !queue_.empty()) cancel(*queue_.front());
  if (state_ == State::kNone || state_ == State::kEnding) return;
  if (state_ == State::kPrompt) wake();
  const bool is_idle = state_ == State::kReady || state_ == State::kWaking;
  state_ = State::kEnding;
  if (is_idle) return send_word(end_word());
  if (call_ && call_->cause == Cause::kNone) call_->cause = cause;
  process_.hang_up();
}

}  // namespace sbx
