// SPDX-License-Identifier: Apache-2.0
// Reactor: epoll events carry tokens, never pointers, so that an event fetched for a handle that an
// earlier callback dropped finds nothing.
#include "gateway/reactor.h"

#include <cerrno>

namespace sbx {
namespace {

constexpr int kEventsPerStep = 64;

}  // namespace

Status Reactor::open() {
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (epoll_.is_open()) return {};
  const int error = errno;
  return Error{.code = ErrorCode::kSetupFailed,
               .message = "cannot make an epoll descriptor: " + errno_text(error),
               .where = "epoll_create1",
               .hint = "raise the limit on open files",
               .sys_errno = error};
}

std::optional<Reactor::Clock::time_point> Reactor::deadline() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

void Reactor::run_timers() {
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

void Reactor::step() {
  run_timers();
  epoll_event events[kEventsPerStep];
  const int count = epoll_wait(epoll_.get(), events, kEventsPerStep, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t token = events[i].data.u64;  // packed: no reference to it
    const auto found = watches_.find(token);
    if (found == watches_.end()) continue;
    const std::shared_ptr<OnEvents> callback = found->second;
    (*callback)(events[i].events);
  }
  // Dropping an object may bury another.
  while (!buried_.empty()) {
    const auto dropped = std::exchange(buried_, {});
  }
}

Reactor::Watch Reactor::watch(int fd, std::uint32_t events, OnEvents callback) {
  Watch watch;
  const std::uint64_t token = next_token_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return watch;
  watches_.emplace(token, std::make_shared<OnEvents>(std::move(callback)));
  watch.reactor_ = this;
  watch.token_ = token;
  watch.fd_ = fd;
  watch.events_ = events;
  return watch;
}

Reactor::Timer Reactor::after(Clock::duration delay, OnTime callback) {
  Timer timer;
  timer.reactor_ = this;
  timer.key_ = {Clock::now() + delay, next_token_++};
  timers_.emplace(timer.key_, std::move(callback));
  return timer;
}

void Reactor::Watch::want(std::uint32_t events) {
  if (reactor_ == nullptr || events == events_) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = token_;
  epoll_ctl(reactor_->epoll_.get(), EPOLL_CTL_MOD, fd_, &event);
  events_ = events;
}

void Reactor::Watch::stop() {
  if (reactor_ == nullptr) return;
  epoll_ctl(reactor_->epoll_.get(), EPOLL_CTL_DEL, fd_, nullptr);
  reactor_->watches_.erase(token_);
  reactor_ = nullptr;
}

void Reactor::Watch::swap(Watch& other) noexcept {
  std::swap(reactor_, other.reactor_);
  std::swap(token_, other.token_);
  std::swap(fd_, other.fd_);
  std::swap(events_, other.events_);
}

void Reactor::Timer::stop() {
  if (reactor_ == nullptr) return;
  reactor_->timers_.erase(key_);
  reactor_ = nullptr;
}

void Reactor::Timer::swap(Timer& other) noexcept {
  std::swap(reactor_, other.reactor_);
  std::swap(key_, other.key_);
}

}  // namespace sbx
