// SPDX-License-Identifier: Apache-2.0
// Loop: epoll events carry tokens, never pointers, so that an event fetched for a handle that an
// earlier callback dropped finds nothing.
#include "base/loop.h"

#include <algorithm>
#include <cerrno>

namespace sbx {
namespace {

constexpr int kEventsPerStep = 64;
constexpr int kLongestWaitMs = 60'000;

}  // namespace

Status Loop::open() {
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (epoll_.is_open()) return {};
  const int error = errno;
  return Error{.code = ErrorCode::kSetupFailed,
               .message = "cannot make an epoll descriptor: " + errno_text(error),
               .where = "epoll_create1",
               .hint = "raise the limit on open files",
               .sys_errno = error};
}

std::optional<Loop::Clock::time_point> Loop::deadline() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

void Loop::close() {
  watches_.clear();
  timers_.clear();
  epoll_.reset();  // and with it, in one call, all that was watched
}

int Loop::wait_ms(std::optional<Clock::time_point> until, int longest) {
  if (!until || longest == 0) return longest;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
  return static_cast<int>(
      std::clamp<std::int64_t>(left, 0, longest < 0 ? kLongestWaitMs : longest));
}

void Loop::run_timers() {
  if (timers_.empty()) return;
  const auto now = Clock::now();
  const std::uint64_t first_new = next_token_;  // a timer set meanwhile waits for the next step
  while (!timers_.empty()) {
    const auto first = timers_.begin();
    if (first->first.first > now || first->first.second >= first_new) return;
    const OnTime callback = std::move(first->second);
    timers_.erase(first);
    callback();
  }
}

int Loop::step(int longest) {
  epoll_event events[kEventsPerStep];
  const int count = epoll_wait(epoll_.get(), events, kEventsPerStep, wait_ms(deadline(), longest));
  const int error = count < 0 && errno != EINTR ? errno : 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t token = events[i].data.u64;  // packed: no reference to it
    const auto found = watches_.find(token);
    if (found == watches_.end()) continue;
    const std::shared_ptr<OnEvents> callback = found->second;
    (*callback)(events[i].events);
  }
  run_timers();
  // Dropping an object may bury another.
  while (!buried_.empty()) {
    const auto dropped = std::exchange(buried_, {});
  }
  return error;
}

Loop::Watch Loop::watch(int fd, std::uint32_t events, OnEvents callback) {
  Watch watch;
  const std::uint64_t token = next_token_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return watch;
  watches_.emplace(token, std::make_shared<OnEvents>(std::move(callback)));
  watch.loop_ = this;
  watch.token_ = token;
  watch.fd_ = fd;
  watch.events_ = events;
  return watch;
}

Loop::Timer Loop::at(Clock::time_point when, OnTime callback) {
  Timer timer;
  timer.loop_ = this;
  timer.key_ = {when, next_token_++};
  timers_.emplace(timer.key_, std::move(callback));
  return timer;
}

void Loop::Watch::want(std::uint32_t events) {
  if (loop_ == nullptr || events == events_) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = token_;
  epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_MOD, fd_, &event);
  events_ = events;
}

void Loop::Watch::stop() {
  if (loop_ == nullptr) return;
  if (loop_->epoll_.is_open()) epoll_ctl(loop_->epoll_.get(), EPOLL_CTL_DEL, fd_, nullptr);
  forget();
}

void Loop::Watch::forget() {
  if (loop_ != nullptr) loop_->watches_.erase(token_);
  loop_ = nullptr;
}

void Loop::Watch::swap(Watch& other) noexcept {
  std::swap(loop_, other.loop_);
  std::swap(token_, other.token_);
  std::swap(fd_, other.fd_);
  std::swap(events_, other.events_);
}

void Loop::Timer::stop() {
  if (loop_ == nullptr) return;
  loop_->timers_.erase(key_);
  loop_ = nullptr;
}

void Loop::Timer::swap(Timer& other) noexcept {
  std::swap(loop_, other.loop_);
  std::swap(key_, other.key_);
}

}  // namespace sbx
