// SPDX-License-Identifier: Apache-2.0
// Nothing here blocks: every wait is the loop's.
#include "run/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "launch/handover.h"
#include "launch/tree.h"
#include "sys/calls.h"

namespace sbx {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Kind = RunEvent::Kind;

struct Pipe {
  OwnedFd read;
  OwnedFd write;
};

Error failed(const char* call) {
  return call_failed(ErrorCode::kSetupFailed, call, call,
                     "raise the limits of open files and memory");
}

const char* operation_of(Loss::End end) {
  switch (end) {
    case Loss::End::kRestored:
      return "mask_restored";
    case Loss::End::kReported:
      return "mask_lost";
    case Loss::End::kRunEnded:
      return kMaskLostRunEnded;
    case Loss::End::kTakenAway:
      return "protected_created";
    case Loss::End::kMadeAgain:
      return kMadeAgainRunEnded;
  }
  return "";
}

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return call_failed(ErrorCode::kSetupFailed, "pipe2", "pipe2",
                       "raise the limit of open files (ulimit -n)");
  }
  Pipe pipe{OwnedFd(ends[0]), OwnedFd(ends[1])};
  // Only our end: the command must find an ordinary blocking pipe.
  if (fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0) return failed("fcntl(O_NONBLOCK)");
  return pipe;
}

Result<OwnedFd> open_null(int flags) {
  OwnedFd null(open("/dev/null", flags | O_CLOEXEC));
  if (null.is_open()) return null;
  return call_failed(ErrorCode::kSetupFailed, "open(/dev/null)", "open",
                     "make it anew: mknod -m 666 /dev/null c 1 3");
}

// A prompt has no newline: its line is whole when nothing follows for so long.
constexpr Milliseconds kRest{15};
constexpr Milliseconds kReadsFor{1};
// A command that writes in small pieces wakes who reads it for each of them, at the cost of others
// that wait for the same thread: after so many, soon after each other, they gather for a while.
constexpr ssize_t kSmall = 4096;
constexpr int kMostSmallReads = 16;
constexpr Milliseconds kSoon{4};
constexpr Milliseconds kGathering{1};

}  // namespace

// The command's 0, 1 and 2, and what holds them open until it has them.
struct Supervisor::Standard {
  int fds[3] = {0, 1, 2};
  OwnedFd null;
  OwnedFd out;
  OwnedFd err;
};

Supervisor::Supervisor(SuperviseInput input)
    : input_(std::move(input)),
      result_(input_.capture, input_.redaction, input_.find_result),
      refusals_(input_.denials),
      file_reports_(input_.plan, input_.policy, refusals_, input_.denials,
                    [this](int fd, bool on) { return watch_reports(fd, on); }) {
  refusals_.set_own_ids(input_.plan.own_ids);
  refusals_.set_without_network(input_.plan.without_network);
  if (!input_.plan.reported_calls.empty()) {
    refusals_.observe(input_.plan.reported_calls,
                      [this](const sys::SeccompNotif& call) { file_reports_.look(call); });
  }
  if (!input_.on_output) return;
  result_.out.set_sink(
      [this](std::string_view text) { input_.on_output(OutputChannel::kOut, text); });
  result_.err.set_sink(
      [this](std::string_view text) { input_.on_output(OutputChannel::kErr, text); });
}

// Given up by its owner: nothing may run on.
Supervisor::~Supervisor() {
  if (!spawned_ || state_.is_init_gone) return;
  // Its file systems go with it, and not here.
  tree_.reset();
  result_.overlays.clear();
  kill_tree();  // what was asked to end may not have yet
  reap();
}

// --- the beginning ---

Status Supervisor::make_standard(Standard& standard) {
  if (input_.mode == OutputMode::kOwnTerminal) {
    SBX_TRY(standard.null, open_null(O_RDWR));
    for (int& fd : standard.fds) fd = standard.null.get();
  }
  if (input_.mode != OutputMode::kCapture) return {};
  SBX_TRY(Pipe out, make_pipe());
  out_.fd = std::move(out.read);
  standard.out = std::move(out.write);
  if (!input_.merge) {
    SBX_TRY(Pipe err, make_pipe());
    err_.fd = std::move(err.read);
    standard.err = std::move(err.write);
  }
  if (input_.stdin_fd < 0) {
    SBX_TRY(standard.null, open_null(O_RDONLY));
  }
  standard.fds[0] = input_.stdin_fd < 0 ? standard.null.get() : input_.stdin_fd;
  standard.fds[1] = standard.out.get();
  standard.fds[2] = input_.merge ? standard.out.get() : standard.err.get();
  return {};
}

Status Supervisor::watch(Loop::Watch& watch, int fd, void (Supervisor::*handle)()) {
  watch = input_.loop->watch(fd, EPOLLIN, [this, handle](std::uint32_t) { (this->*handle)(); });
  return watch.is_on() ? Status() : failed("epoll_ctl(EPOLL_CTL_ADD)");
}

Status Supervisor::watch(Channel& channel, OutputStream& stream) {
  channel.watch =
      input_.loop->watch(channel.fd.get(), is_resting_ ? 0U : std::uint32_t{EPOLLIN},
                         [this, &channel, &stream](std::uint32_t) { drain(channel, stream); });
  return channel.watch.is_on() ? Status() : failed("epoll_ctl(EPOLL_CTL_ADD)");
}

// Whatever can be refused is asked for before there is a child.
Status Supervisor::watch_own() {
  if (out_.fd.is_open()) SBX_CHECK_OK(watch(out_, result_.out));
  if (err_.fd.is_open()) SBX_CHECK_OK(watch(err_, result_.err));
  if (input_.signal_fd >= 0) {
    SBX_CHECK_OK(watch(watches_.signals, input_.signal_fd, &Supervisor::take_signal));
  }
  if (input_.owner_pidfd < 0) return {};
  return watch(watches_.owner, input_.owner_pidfd, &Supervisor::take_owner_end);
}

Status Supervisor::watch_child(const Standard& standard) {
  SBX_CHECK_OK(watch(watches_.init, spawned_->pidfd.get(), &Supervisor::note_init_end));
  SBX_CHECK_OK(watch(watches_.control, spawned_->control.get(), &Supervisor::take_descriptors));
  if (spawned_->slot == nullptr) return {};
  spawned_->state->tells_begin.store(input_.tells_begin ? 1 : 0);
  return hand_over(*spawned_, input_.plan, standard.fds);
}

Status Supervisor::start() {
  // Whatever fails, it is ended.
  if (input_.waiting) spawned_.emplace(std::move(*input_.waiting));
  if (input_.is_alone && !input_.plan.has_pid_namespace &&
      prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return failed("prctl(PR_SET_CHILD_SUBREAPER)");
  }
  Standard standard;
  SBX_CHECK_OK(make_standard(standard));
  SBX_CHECK_OK(watch_own());
  const auto started = Clock::now();
  if (!spawned_) {
    SBX_TRY(Spawned spawned,
            spawn(SpawnRequest{input_.plan, standard.fds[0], standard.fds[1], standard.fds[2],
                               input_.cgroup_fd, input_.tells_begin}));
    spawned_.emplace(std::move(spawned));
  }
  tree_.emplace(input_.watch, spawned_->pid);
  state_.may_leave = input_.may_leave;
  if (input_.watch.any()) state_.next_look = started + Milliseconds(tree_->first_look());
  if (input_.timeout_ms) state_.deadline = started + Milliseconds(*input_.timeout_ms);
  const Status status = watch_child(standard);
  // What waits for its command takes the first message for that: nothing is asked for before.
  if (input_.network != nullptr) input_.network->attach(spawned_->control.get(), refusals_);
  if (!status.ok()) give_up(status.error());
  return {};
}

// --- the loop ---

void Supervisor::step(int longest) {
  // What is due has no timer of the loop's: the fold is told of the time after each turn.
  const int error = input_.loop->step(Loop::wait_ms(deadline(), longest));
  if (error != 0) {
    errno = error;
    give_up(failed("epoll_wait"));
  }
  settle();
}

std::optional<Supervisor::Clock::time_point> Supervisor::deadline() const {
  std::optional<Clock::time_point> until = state_.next_time();
  const auto take = [&until](const std::optional<Clock::time_point>& time) {
    if (time) until = std::min(until.value_or(*time), *time);
  };
  if (input_.network != nullptr) take(input_.network->deadline());
  take(file_reports_.deadline());
  take(rests_at_);
  return until;
}

void Supervisor::settle() {
  const auto now = Clock::now();
  const auto is_due = [now](const auto& time) { return time && now >= *time; };
  if (input_.network != nullptr && is_due(input_.network->deadline())) input_.network->step();
  if (is_due(file_reports_.deadline())) file_reports_.step();
  if (is_due(rests_at_)) {
    rests_at_.reset();
    for (OutputStream* const stream : {&result_.out, &result_.err}) {
      input_.unfinished == Unfinished::kShown && !master_.is_open() ? stream->show()
                                                                    : stream->settle();
    }
  }
  feed({.kind = Kind::kTime}, now);
  feed({.kind = Kind::kOutput, .on = has_output()}, now);
}

bool Supervisor::has_output() const {
  return out_.fd.is_open() || err_.fd.is_open() || (terminal_ && terminal_->is_open()) ||
         (input_.network != nullptr && input_.network->has_unsent());
}

void Supervisor::feed(RunEvent event, Clock::time_point now) {
  event.now = now;
  carry_out(fold(state_, event));
}

void Supervisor::carry_out(const RunActions& actions) {
  if (actions.detach && input_.network != nullptr) input_.network->detach();
  if (actions.kill) end_tree();
  if (actions.ask_to_end && sys::pidfd_send_signal(spawned_->pidfd.get(), kAskToEnd) != 0) {
    feed({.kind = Kind::kNotAsked});
  }
  if (actions.end_strays) end_strays();
  if (actions.let_init_go) spawned_->lifeline.reset();
  if (actions.look) look();
}

void Supervisor::look() {
  int next_ms = 0;
  const std::optional<Limit> limit = tree_->look(next_ms);
  feed({.kind = Kind::kLooked, .limit = limit, .next_look = Clock::now() + Milliseconds(next_ms)});
}

// PID 1 ends everything and says what that used, where the command runs already. One that does not
// is killed when the run is over.
void Supervisor::end_tree() {
  if (!input_.plan.has_pid_namespace || spawned_->state->executed.load() == 0) return kill_tree();
  spawned_->lifeline.reset();
}

// In a pid namespace the end of PID 1 is the end of all. Elsewhere it must live to kill them.
void Supervisor::kill_tree() {
  const int number = input_.plan.has_pid_namespace ? SIGKILL : SIGTERM;
  if (sys::pidfd_send_signal(spawned_->pidfd.get(), number) == 0) return;
  spawned_->lifeline.reset();  // PID 1 ends with it as well
}

void Supervisor::reap() {
  watches_.init.stop();  // what does not end takes its pidfd along
  reap_killed(*spawned_, kLongestEndMs, &result_.tree_usage);
  end_strays();
}

void Supervisor::end_strays() const {
  if (input_.is_alone && !input_.plan.has_pid_namespace) kill_descendants(10'000);
}

// What the loop needs fails: everything ends at once, without the loop.
void Supervisor::give_up(Error error) {
  if (!result_.failure) result_.failure = std::move(error);
  if (!state_.is_init_gone) {
    kill_tree();
    reap();
  }
  out_.close();
  err_.close();
  terminal_.reset();
  feed({.kind = Kind::kBroken});
}

// --- what others ask for ---

void Supervisor::cancel(int signal_number) {
  feed({.kind = Kind::kSignal, .number = signal_number});
}

void Supervisor::terminate(Milliseconds grace) { feed({.kind = Kind::kTerminate, .grace = grace}); }

// A pipe whose writers are gone would wake the loop again and again: it leaves the set.
void Supervisor::hold_output(bool hold) {
  if (hold == state_.is_held) return;
  feed({.kind = Kind::kHold, .on = hold});
  for (Channel* const channel : {&out_, &err_}) {
    if (!channel->fd.is_open()) continue;
    if (hold) {
      channel->watch.stop();
    } else if (const Status status = watch(*channel, channel == &out_ ? result_.out : result_.err);
               !status.ok()) {
      give_up(status.error());
    }
  }
}

void Supervisor::rest(bool on) {
  is_resting_ = on && !state_.is_init_gone;
  for (Channel* const channel : {&out_, &err_})
    channel->watch.want(is_resting_ ? 0U : std::uint32_t{EPOLLIN});
}

void Supervisor::leave() {
  watches_ = {};
  tree_.reset();  // its file systems go with PID 1, and not here
  out_.close();
  err_.close();
  terminal_.reset();
  input_.loop = nullptr;
  input_.network = nullptr;
  input_.on_output = nullptr;
}

bool Supervisor::has_left() const {
  return state_.is_init_gone || is_ready(spawned_->pidfd.get(), POLLIN);
}

void Supervisor::take_signal() {
  signalfd_siginfo info{};
  if (read(input_.signal_fd, &info, sizeof info) != sizeof info) return;
  if (info.ssi_signo != SIGWINCH) return cancel(static_cast<int>(info.ssi_signo));
  if (terminal_) terminal_->resize();
}

void Supervisor::take_owner_end() {
  watches_.owner.stop();
  feed({.kind = Kind::kOwnerGone});
}

// --- what the child tells ---

void Supervisor::take_descriptors() {
  std::vector<Received> reports = receive_reports(spawned_->control.get());
  for (Received& report : reports) take(report);
  if (!reports.empty() || errno == EAGAIN || errno == EINTR) return;
  // ECONNRESET: it was killed before it read what was handed over.
  if (errno != 0 && errno != ECONNRESET) return give_up(failed("recvmsg"));
  // End of file: PID 1 has begun to end, so the command has.
  watches_.control.stop();
  feed({.kind = Kind::kTold,
        .has_status = spawned_->state->ended.load() != 0,
        .is_alone = spawned_->state->is_empty.load() != 0});
}

void Supervisor::take(Received& report) {
  switch (report.tag) {
    case ReportTag::kProc:
      tree_->set_proc(std::move(report.fd));
      return;
    case ReportTag::kScratch:
      if (input_.network != nullptr) input_.network->take_scratch(report.fd.get());
      tree_->set_scratch(std::move(report.fd));
      return;
    case ReportTag::kSharedMemory:
      // The host's own segments are not the command's.
      if ((input_.plan.clone_flags & CLONE_NEWIPC) != 0) {
        tree_->set_shared_memory(std::move(report.fd));
      }
      return;
    case ReportTag::kSocketDiag:
      // Neither are its sockets.
      if ((input_.plan.clone_flags & CLONE_NEWNET) != 0) {
        tree_->set_socket_diag(std::move(report.fd));
      }
      return;
    case ReportTag::kListener:
      refusals_.set_listener(std::move(report.fd));
      // Unanswered, every refused call would wait for ever.
      if (const Status status =
              watch(watches_.listener, refusals_.listener(), &Supervisor::answer_refused);
          !status.ok()) {
        give_up(status.error());
      }
      return;
    case ReportTag::kPty:
      return take_terminal(std::move(report.fd));
    case ReportTag::kOverlay:
      result_.overlays.push_back(std::move(report.fd));
      return;
    case ReportTag::kDnsUdp4:
    case ReportTag::kDnsTcp4:
    case ReportTag::kDnsUdp6:
    case ReportTag::kDnsTcp6:
    case ReportTag::kAnswer:
      if (input_.network != nullptr) input_.network->take(report);
      return;
    case ReportTag::kBegun:
      has_begun_ = true;
      return;
    case ReportTag::kStopped:
      if (terminal_) terminal_->suspend();
      (void)ask_inside(spawned_->control.get(), {.kind = InsideRequest::Kind::kContinue});
      return;
  }
}

void Supervisor::take_terminal(OwnedFd master) {
  if (input_.mode == OutputMode::kTerminal) {
    terminal_.emplace(std::move(master), *input_.loop);
    return;
  }
  fcntl(master.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  // Closed at the end of its output, it would hang up on a program that is about to end by itself.
  out_.fd.reset(fcntl(master.get(), F_DUPFD_CLOEXEC, 3));
  master_ = std::move(master);
  if (!out_.fd.is_open()) return give_up(failed("fcntl(F_DUPFD_CLOEXEC)"));
  if (const Status status = watch(out_, result_.out); !status.ok()) give_up(status.error());
}

void Supervisor::answer_refused() {
  if (refusals_.answer()) return;
  watches_.listener.stop();
  refusals_.close();
}

bool Supervisor::watch_reports(int fd, bool on) {
  watches_.reports.stop();
  if (!on) return true;
  watches_.reports =
      input_.loop->watch(fd, EPOLLIN, [this](std::uint32_t) { file_reports_.step(); });
  return watches_.reports.is_on();
}

void Supervisor::note_init_end() {
  if (state_.is_init_gone) return;
  int status = 0;
  const pid_t reaped = wait4(spawned_->pid, &status, WNOHANG, &result_.tree_usage);
  if (reaped == 0 || (reaped < 0 && errno == EINTR)) return;
  // The pidfd says that it has ended: what it left must not be waited for.
  if (reaped < 0) return give_up(failed("wait4"));
  watches_.init.stop();
  rest(false);
  feed({.kind = Kind::kInitGone, .has_status = spawned_->state->ended.load() != 0});
}

void Supervisor::drain(Channel& channel, OutputStream& stream) {
  static std::array<char, std::size_t{64} << 10> buffer;  // one thread
  // Bounded, so that a flood on one pipe starves neither the other nor the clocks.
  const auto until = Clock::now() + kReadsFor;
  do {
    const ssize_t size = read(channel.fd.get(), buffer.data(), buffer.size());
    if (size > 0) {
      if (master_.is_open() || input_.unfinished != Unfinished::kHeld) {
        rests_at_ = Clock::now() + kRest;
      }
      stream.append({buffer.data(), static_cast<std::size_t>(size)});
      if (size < kSmall) return pause_after_small_reads(channel);
      if (static_cast<std::size_t>(size) < buffer.size()) return;
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      channel.close();
    } else {
      return;
    }
  } while (channel.fd.is_open() && !state_.is_held && Clock::now() < until);
}

// The end of the output is told all the same.
void Supervisor::pause_after_small_reads(Channel& channel) {
  const auto now = Clock::now();
  const bool is_soon = now < channel.small_read_at + kSoon;
  channel.small_reads = is_soon ? channel.small_reads + 1 : 0;
  channel.small_read_at = now;
  if (master_.is_open() || channel.small_reads < kMostSmallReads) return;
  channel.watch.want(0);
  channel.pause = input_.loop->after(kGathering, [this, &channel] {
    if (channel.watch.is_on() && !is_resting_) channel.watch.want(EPOLLIN);
  });
}

// --- the end ---

Supervised& Supervisor::collect() {
  file_reports_.close();
  if (refusals_.listener() >= 0) refusals_.answer();
  if (terminal_) terminal_->restore();
  const SharedState& state = *spawned_->state;
  result_.confirmed = state.confirmed.load();
  if (state.failed_step.load() != 0 && !result_.failure) {
    result_.failure = step_error(input_.plan, state);
    result_.failed_layer = input_.plan.ops.at(state.failed_step.load() - 1).layer;
  }
  result_.ending.cause = state_.cause;
  result_.ending.limit = state_.limit;
  result_.ending.cancel_signal = state_.cancel_signal;
  if (state.ended.load() != 0) result_.ending.wait_status = state.wait_status;
  result_.was_lost = (state_.cause == Cause::kNone || state_.cause == Cause::kEnded) &&
                     state.failed_step.load() == 0 && state.executed.load() == 0;
  result_.usage = state.usage;
  result_.has_reached_pids = tree_->has_reached_pids() || state.reached_pids.load() != 0;
  result_.has_filled_scratch = tree_->has_filled_scratch();
  // Without PID 1's own, which is the work of making the sandbox.
  if (state.is_empty.load() != 0) {
    result_.tree_usage = state.all_usage;
    result_.usage.ru_maxrss = state.all_usage.ru_maxrss;
  }
  add_losses();
  return result_;
}

// What the host uncovered or a command made, and what PID 1 did about it.
void Supervisor::add_losses() const {
  const SharedState& state = *spawned_->state;
  const std::uint32_t count = std::min(state.loss_count.load(), kMaxLosses);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Loss& loss = state.losses[i];
    const char* const what = operation_of(loss.end);
    const auto* const guard = input_.plan.ops.at(loss.step).as<op::Guard>();
    input_.denials.add({Refuser::kMount, what, input_.plan.text(guard->path), loss.count, "", ""});
  }
}

}  // namespace sbx
