// SPDX-License-Identifier: Apache-2.0
// The loop. Nothing in it blocks: every wait is the one epoll_wait.
#include "run/supervisor.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

#include "launch/handover.h"
#include "launch/tree.h"
#include "run/network.h"
#include "run/terminal.h"
#include "sys/calls.h"
#include "trace/file_reports.h"

namespace sbx {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// How long pipes may drain after the command has ended, and a kill may take to be seen.
constexpr Milliseconds kDrain{2000};

enum class Source : std::uint32_t {
  kInit,
  kControl,
  kOut,
  kErr,
  kListener,
  kSignals,
  kOwner,
  kTerminalIn,
  kTerminalOut,
  kPty,
  kNetwork,
  kReports,
};

struct Pipe {
  OwnedFd read;
  OwnedFd write;
};

Error failed(const char* call) {
  const int error = errno;
  return Error{ErrorCode::kSetupFailed, std::string(call) + ": " + errno_text(error), call,
               "raise the limits of open files and memory", error};
}

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return Error{ErrorCode::kSetupFailed, "pipe2: " + errno_text(errno), "pipe2",
                 "raise the limit of open files (ulimit -n)", errno};
  }
  Pipe pipe{OwnedFd(ends[0]), OwnedFd(ends[1])};
  // Only our end: the command must find an ordinary blocking pipe.
  if (fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0) return failed("fcntl(O_NONBLOCK)");
  return pipe;
}

}  // namespace

class Supervisor::Impl {
 public:
  explicit Impl(SuperviseInput input)
      : input_(std::move(input)),
        result_(input_.capture, input_.redaction, input_.find_result),
        refusals_(input_.denials),
        file_reports_(input_.plan, input_.policy, refusals_, input_.denials,
                      [this](int fd, bool on) {
                        if (on) return add(fd, Source::kReports).ok();
                        remove(fd);
                        return true;
                      }) {
    refusals_.set_own_ids(input_.plan.own_ids);
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

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // Given up by its owner: nothing may run on, and the set is another's to use again.
  ~Impl() {
    if (spawned_ && !init_gone_) {
      kill_tree();
      reap_killed(*spawned_, kLongestEndMs, nullptr);
      end_strays();
    }
    for (const int fd :
         {input_.signal_fd, input_.owner_pidfd, out_.get(), err_.get(), refusals_.listener(),
          spawned_ ? spawned_->pidfd.get() : -1, spawned_ ? spawned_->control.get() : -1,
          input_.network != nullptr ? input_.network->poll_fd() : -1}) {
      if (fd >= 0) remove(fd);
    }
  }

  void step(int wait_ms) {
    std::array<epoll_event, 16> events{};
    if (wait_ms != 0) wait_ms = at_most(wait_ms);
    const int count = epoll_wait(input_.epoll_fd, events.data(), events.size(), wait_ms);
    if (count < 0 && errno != EINTR) give_up(failed("epoll_wait"));
    for (int i = 0; i < count; ++i) {
      handle(static_cast<Source>(events[static_cast<std::size_t>(i)].data.u32),
             events[static_cast<std::size_t>(i)].events);
    }
    check_clocks();
  }

  Status start() {
    if (input_.waiting)
      spawned_.emplace(std::move(*input_.waiting));  // whatever fails, it is ended
    if (input_.is_alone && !input_.plan.has_pid_namespace &&
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
      return failed("prctl(PR_SET_CHILD_SUBREAPER)");
    }
    Pipe out;
    Pipe err;
    OwnedFd null;
    std::array<int, 3> standard = {0, 1, 2};
    if (input_.mode == OutputMode::kCapture) {
      SBX_TRY(out, make_pipe());
      if (!input_.merge) {
        SBX_TRY(err, make_pipe());
      }
      if (input_.stdin_fd < 0) null.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
      standard = {input_.stdin_fd < 0 ? null.get() : input_.stdin_fd, out.write.get(),
                  input_.merge ? out.write.get() : err.write.get()};
    }
    out_ = std::move(out.read);
    err_ = std::move(err.read);
    // Whatever can be refused is asked for before there is a child.
    if (out_.is_open()) SBX_CHECK_OK(add(out_.get(), Source::kOut));
    if (err_.is_open()) SBX_CHECK_OK(add(err_.get(), Source::kErr));
    if (input_.signal_fd >= 0) SBX_CHECK_OK(add(input_.signal_fd, Source::kSignals));
    if (input_.owner_pidfd >= 0) SBX_CHECK_OK(add(input_.owner_pidfd, Source::kOwner));
    if (input_.network != nullptr) {
      SBX_CHECK_OK(add(input_.network->poll_fd(), Source::kNetwork));
    }
    started_ = Clock::now();
    if (!spawned_) {
      SBX_TRY(Spawned spawned,
              spawn(SpawnRequest{input_.plan, standard[0], standard[1], standard[2],
                                 input_.cgroup_fd, input_.tells_begin}));
      spawned_.emplace(std::move(spawned));
    }
    watch_.emplace(input_.watch, spawned_->pid);
    if (input_.watch.any()) next_look_ = started_ + Milliseconds(first_look_ms());
    if (input_.timeout_ms) deadline_ = started_ + Milliseconds(*input_.timeout_ms);
    Status status = add(spawned_->pidfd.get(), Source::kInit);
    if (status.ok()) status = add(spawned_->control.get(), Source::kControl);
    if (status.ok() && spawned_->slot != nullptr) {
      spawned_->state->tells_begin.store(input_.tells_begin ? 1 : 0);
      const int fds[3] = {standard[0], standard[1], standard[2]};
      status = hand_over(*spawned_, input_.plan, fds);
    }
    // What waits for its command takes the first message for that: nothing is asked for before.
    if (input_.network != nullptr) {
      input_.network->attach(spawned_->control.get(), refusals_);
    }
    if (!status.ok()) give_up(status.error());
    return {};
  }

  // What the loop needs fails: everything ends at once, without the loop.
  void give_up(Error error) {
    if (!result_.failure) result_.failure = std::move(error);
    kill_tree();
    if (!init_gone_) {
      reap_killed(*spawned_, kLongestEndMs, &result_.tree_usage);
      init_gone_ = true;
      end_strays();
    }
    out_.reset();
    err_.reset();
    terminal_.reset();
  }

  void end_strays() const {
    if (input_.is_alone && !input_.plan.has_pid_namespace) kill_descendants(10'000);
  }

  // A fork bomb needs some milliseconds to matter, a memory hog more.
  int first_look_ms() const { return input_.watch.pids ? 5 : 25; }

  Status add(int fd, Source source) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = static_cast<std::uint32_t>(source);
    if (epoll_ctl(input_.epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0) return {};
    return failed("epoll_ctl(EPOLL_CTL_ADD)");
  }
  void remove(int fd) { epoll_ctl(input_.epoll_fd, EPOLL_CTL_DEL, fd, nullptr); }

  bool is_finished() const {
    const bool drained = !out_.is_open() && !err_.is_open() && !pty_is_open() &&
                         (input_.network == nullptr || !input_.network->has_unsent());
    return (is_over() && drained) || (drain_until_ && !held_ && Clock::now() >= *drain_until_);
  }
  // Nothing of the command is left. PID 1 itself may be.
  bool is_over() const { return init_gone_ || is_empty_; }
  bool pty_is_open() const { return terminal_ && terminal_->is_open(); }

  std::optional<Clock::time_point> deadline() const {
    auto until = Clock::time_point::max();
    if (deadline_ && !killed_) until = std::min(until, *deadline_);
    if (next_look_ && !killed_) until = std::min(until, *next_look_);
    if (kill_at_ && !killed_) until = std::min(until, *kill_at_);
    if (drain_until_ && !held_) until = std::min(until, *drain_until_);
    if (input_.network != nullptr)
      until = std::min(until, input_.network->deadline().value_or(until));
    until = std::min(until, file_reports_.deadline().value_or(until));
    if (until == Clock::time_point::max()) return std::nullopt;
    return until;
  }

  // `wait_ms` (-1: for ever), but not beyond the deadline.
  int at_most(int wait_ms) const {
    const auto until = deadline();
    if (!until) return wait_ms;
    const std::int64_t left = std::chrono::ceil<Milliseconds>(*until - Clock::now()).count();
    const std::int64_t longest = wait_ms < 0 ? 60'000 : wait_ms;
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, longest));
  }

  void cancel(int signal_number) {
    if (result_.cause == Cause::kNone) result_.cancel_signal = signal_number;
    end(Cause::kCancelled);
    if (kill_at_) kill_tree();  // nobody waits for the grace any more
  }

  void terminate(Milliseconds grace) {
    if (kill_at_) kill_at_ = std::min(*kill_at_, Clock::now() + grace);
    if (result_.cause != Cause::kNone || init_gone_) return;
    result_.cause = Cause::kKilled;
    kill_at_ = Clock::now() + grace;
    if (sys::pidfd_send_signal(spawned_->pidfd.get(), kAskToEnd) != 0) kill_tree();
  }

  // A pipe whose writers are gone would wake the loop again and again: it leaves the set.
  void hold_output(bool hold) {
    if (hold == held_) return;
    held_ = hold;
    for (OwnedFd* const pipe : {&out_, &err_}) {
      if (!pipe->is_open()) continue;
      if (hold) {
        remove(pipe->get());
      } else if (Status status = add(pipe->get(), pipe == &out_ ? Source::kOut : Source::kErr);
                 !status.ok()) {
        give_up(status.error());
      }
    }
    if (!hold && drain_until_) drain_until_ = Clock::now() + kDrain;
  }

  void leave() {
    input_.epoll_fd = -1;
    input_.network = nullptr;
    input_.on_output = nullptr;
  }

  void let_go() { spawned_->lifeline.reset(); }

  pid_t pid() const { return spawned_ && !init_gone_ ? spawned_->pid : -1; }

  bool has_begun() const { return has_begun_; }

  void handle(Source source, std::uint32_t events) {
    switch (source) {
      case Source::kInit:
        reap_init();
        return;
      case Source::kControl:
        take_descriptors();
        return;
      case Source::kOut:
        drain(out_, result_.out);
        return;
      case Source::kErr:
        drain(err_, result_.err);
        return;
      case Source::kListener:
        if (!refusals_.answer()) {
          remove(refusals_.listener());
          refusals_.close();
        }
        return;
      case Source::kSignals:
        take_signal();
        return;
      case Source::kOwner:
        remove(input_.owner_pidfd);
        end(Cause::kOwnerGone);
        return;
      case Source::kNetwork:
        input_.network->step();
        return;
      case Source::kReports:
        file_reports_.step();
        return;
      case Source::kTerminalIn:
      case Source::kTerminalOut:
      case Source::kPty:
        if (terminal_) terminal_->handle(events);
        return;
    }
  }

  // --- what ends a run ---

  void end(Cause cause) {
    if (result_.cause != Cause::kNone) return;
    result_.cause = cause;
    kill_tree();
  }

  void kill_tree() {
    if (killed_ || init_gone_) return;
    killed_ = true;
    // In a pid namespace the end of PID 1 is the end of all. Elsewhere it must live to kill them.
    if (sys::pidfd_send_signal(spawned_->pidfd.get(),
                               input_.plan.has_pid_namespace ? SIGKILL : SIGTERM) != 0) {
      spawned_->lifeline.reset();  // PID 1 ends with it as well
    }
    start_drain();
  }

  void start_drain() {
    if (!drain_until_) drain_until_ = Clock::now() + kDrain;
  }

  void check_clocks() {
    const auto now = Clock::now();
    if (input_.network != nullptr && now >= input_.network->deadline().value_or(now + kDrain)) {
      input_.network->step();
    }
    if (now >= file_reports_.deadline().value_or(now + kDrain)) file_reports_.step();
    if (killed_ || is_over()) return;
    if (kill_at_ && now >= *kill_at_) kill_tree();
    if (deadline_ && now >= *deadline_) {
      end(Cause::kTimedOut);
      return;
    }
    if (next_look_ && now >= *next_look_) {
      int next_ms = 0;
      if (auto limit = watch_->look(next_ms)) {
        if (result_.cause == Cause::kNone) result_.limit = *limit;
        end(Cause::kLimit);
      }
      next_look_ = Clock::now() + Milliseconds(next_ms);
    }
  }

  void take_signal() {
    signalfd_siginfo info{};
    if (read(input_.signal_fd, &info, sizeof info) != sizeof info) return;
    if (info.ssi_signo == SIGWINCH) {
      if (terminal_) terminal_->resize();
      return;
    }
    cancel(static_cast<int>(info.ssi_signo));
  }

  // --- what the child tells ---

  void take_descriptors() {
    std::vector<Received> reports = receive_reports(spawned_->control.get());
    if (reports.empty()) {
      if (errno == EAGAIN || errno == EINTR) return;
      // ECONNRESET: it was killed before it read what was handed over.
      if (errno != 0 && errno != ECONNRESET) {
        give_up(failed("recvmsg"));
      } else {
        // End of file: PID 1 has begun to end, so the command has.
        remove(spawned_->control.get());
        note_end();
      }
      return;
    }
    for (Received& report : reports) take(report);
  }

  void take(Received& report) {
    switch (report.tag) {
      case ReportTag::kProc:
        watch_->set_proc(std::move(report.fd));
        return;
      case ReportTag::kScratch:
        if (input_.network != nullptr) input_.network->take_scratch(report.fd.get());
        watch_->set_scratch(std::move(report.fd));
        return;
      case ReportTag::kSharedMemory:
        // The host's own segments are not the command's.
        if ((input_.plan.clone_flags & CLONE_NEWIPC) != 0) {
          watch_->set_shared_memory(std::move(report.fd));
        }
        return;
      case ReportTag::kSocketDiag:
        // Neither are its sockets.
        if ((input_.plan.clone_flags & CLONE_NEWNET) != 0) {
          watch_->set_socket_diag(std::move(report.fd));
        }
        return;
      case ReportTag::kListener:
        refusals_.set_listener(std::move(report.fd));
        // Unanswered, every refused call would wait for ever.
        if (Status status = add(refusals_.listener(), Source::kListener); !status.ok()) {
          give_up(status.error());
        }
        return;
      case ReportTag::kPty:
        terminal_.emplace(std::move(report.fd), input_.epoll_fd,
                          static_cast<std::uint32_t>(Source::kPty),
                          static_cast<std::uint32_t>(Source::kTerminalIn),
                          static_cast<std::uint32_t>(Source::kTerminalOut));
        return;
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
    }
  }

  void note_end() {
    const bool has_ended = spawned_->state->ended.load() != 0;
    if (has_ended && result_.cause == Cause::kNone) result_.cause = Cause::kEnded;
    if (has_ended && input_.may_leave && spawned_->state->is_empty.load() != 0 && !is_over()) {
      is_empty_ = true;
      if (input_.network != nullptr) input_.network->detach();
    }
    if (!is_empty_) spawned_->lifeline.reset();  // PID 1 may go
    start_drain();
  }

  void reap_init() {
    if (init_gone_) return;  // the kernel kept the pidfd in the set
    int status = 0;
    const pid_t reaped = wait4(spawned_->pid, &status, WNOHANG, &result_.tree_usage);
    if (reaped == 0 || (reaped < 0 && errno == EINTR)) return;
    if (reaped < 0) {  // the pidfd says that it has ended: what it left must not be waited for
      give_up(failed("wait4"));
      return;
    }
    if (input_.network != nullptr && !is_empty_) input_.network->detach();
    init_gone_ = true;
    remove(spawned_->pidfd.get());
    // PID 1 of no namespace may have been killed from inside: what it left is ours now.
    end_strays();
    note_end();
  }

  void drain(OwnedFd& pipe, OutputStream& stream) {
    static std::array<char, std::size_t{64} << 10> buffer;  // one supervisor a process
    // Bounded, so that a flood on one pipe starves neither the other nor the clocks.
    for (int i = 0; i < 16 && pipe.is_open() && !held_; ++i) {
      const ssize_t size = read(pipe.get(), buffer.data(), buffer.size());
      if (size > 0) {
        stream.append({buffer.data(), static_cast<std::size_t>(size)});
        if (static_cast<std::size_t>(size) < buffer.size()) return;
      } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        remove(pipe.get());
        pipe.reset();
      } else {
        return;
      }
    }
  }

  Supervised& collect() {
    file_reports_.close();
    if (refusals_.listener() >= 0) refusals_.answer();
    if (terminal_) terminal_->restore();
    const SharedState& state = *spawned_->state;
    result_.confirmed = state.confirmed.load();
    if (state.failed_step.load() != 0 && !result_.failure) {
      result_.failure = step_error(input_.plan, state);
      result_.failed_layer = input_.plan.ops.at(state.failed_step.load() - 1).layer;
    }
    result_.has_status = state.ended.load() != 0;
    result_.was_lost = (result_.cause == Cause::kNone || result_.cause == Cause::kEnded) &&
                       state.failed_step.load() == 0 && state.executed.load() == 0;
    result_.wait_status = state.wait_status;
    result_.usage = state.usage;
    result_.has_reached_pids = watch_->has_reached_pids();
    result_.has_filled_scratch = watch_->has_filled_scratch();
    // Without PID 1's own, which is the work of making the sandbox.
    if (state.is_empty.load() != 0) result_.tree_usage = state.all_usage;
    add_losses(state);
    return result_;
  }

  // What the host uncovered, and what PID 1 did about it.
  void add_losses(const SharedState& state) const {
    const std::uint32_t count = std::min(state.loss_count.load(), kMaxLosses);
    for (std::uint32_t i = 0; i < count; ++i) {
      const Loss& loss = state.losses[i];
      const char* const what = loss.end == Loss::End::kRestored   ? "mask_restored"
                               : loss.end == Loss::End::kReported ? "mask_lost"
                                                                  : kMaskLostRunEnded;
      const auto* const guard = input_.plan.ops.at(loss.step).as<op::Guard>();
      input_.denials.add({"mount", what, input_.plan.text(guard->path), loss.count, "", ""});
    }
  }

 private:
  SuperviseInput input_;
  Supervised result_;
  OwnedFd out_;
  OwnedFd err_;
  std::optional<Spawned> spawned_;
  std::optional<TreeWatch> watch_;
  std::optional<Terminal> terminal_;
  Refusals refusals_;
  FileReports file_reports_;
  Clock::time_point started_;
  std::optional<Clock::time_point> deadline_;
  std::optional<Clock::time_point> next_look_;
  std::optional<Clock::time_point> drain_until_;
  std::optional<Clock::time_point> kill_at_;
  bool has_begun_ = false;
  bool held_ = false;
  bool killed_ = false;
  bool init_gone_ = false;
  bool is_empty_ = false;
};

Supervisor::Supervisor(SuperviseInput input) : impl_(std::make_unique<Impl>(std::move(input))) {}
Supervisor::~Supervisor() = default;
Status Supervisor::start() { return impl_->start(); }
void Supervisor::step(int wait_ms) { impl_->step(wait_ms); }
std::optional<Supervisor::Clock::time_point> Supervisor::deadline() const {
  return impl_->deadline();
}
bool Supervisor::is_finished() const { return impl_->is_finished(); }
Supervised& Supervisor::collect() { return impl_->collect(); }
pid_t Supervisor::pid() const { return impl_->pid(); }
bool Supervisor::has_begun() const { return impl_->has_begun(); }
void Supervisor::cancel(int signal_number) { impl_->cancel(signal_number); }
void Supervisor::terminate(std::chrono::milliseconds grace) { impl_->terminate(grace); }
void Supervisor::hold_output(bool hold) { impl_->hold_output(hold); }
bool Supervisor::is_over() const { return impl_->is_over(); }
void Supervisor::leave() { impl_->leave(); }
void Supervisor::let_go() { impl_->let_go(); }

}  // namespace sbx
