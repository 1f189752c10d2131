// SPDX-License-Identifier: Apache-2.0
// Loop: descriptors and points in time → callbacks, behind one epoll descriptor. Handles are
// owned by whoever asked: dropping one ends its callbacks, also those of events already fetched.
// A loop may be watched by another one: readable when step() has work.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

class Loop {
 public:
  using Clock = std::chrono::steady_clock;
  using OnEvents = std::function<void(std::uint32_t events)>;
  using OnTime = std::function<void()>;

  // One descriptor's registration. Must be dropped before the descriptor is closed.
  class Watch {
   public:
    Watch() = default;
    Watch(Watch&& other) noexcept { swap(other); }
    Watch& operator=(Watch&& other) noexcept {
      Watch old(std::move(*this));
      swap(other);
      return *this;
    }
    ~Watch() { stop(); }
    bool is_on() const { return loop_ != nullptr; }
    // Level-triggered; 0 still reports EPOLLERR and EPOLLHUP.
    void want(std::uint32_t events);
    void stop();
    // The descriptor has been closed already, and left the set with that.
    void forget();

   private:
    friend class Loop;
    void swap(Watch& other) noexcept;
    Loop* loop_ = nullptr;
    std::uint64_t token_ = 0;
    int fd_ = -1;
    std::uint32_t events_ = 0;
  };

  class Timer {
   public:
    Timer() = default;
    Timer(Timer&& other) noexcept { swap(other); }
    Timer& operator=(Timer&& other) noexcept {
      Timer old(std::move(*this));
      swap(other);
      return *this;
    }
    ~Timer() { stop(); }
    void stop();

   private:
    friend class Loop;
    void swap(Timer& other) noexcept;
    Loop* loop_ = nullptr;
    std::pair<Clock::time_point, std::uint64_t> key_;
  };

  Loop() = default;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Status open();
  int fd() const { return epoll_.get(); }
  std::optional<Clock::time_point> deadline() const;
  // For epoll_wait(2) and poll(2): the milliseconds until then, rounded up so that nothing spins,
  // but at most `longest` (-1: no bound).
  static int wait_ms(std::optional<Clock::time_point> until, int longest = -1);
  // What is ready, then what is due, a bounded number of both. Waits for the first of it, for at
  // most `longest` milliseconds (-1: for ever). An error number where the kernel cannot wait, else
  // 0.
  int step(int longest = 0);

  // Not on (is_on) when the kernel refuses the registration: errno says why.
  Watch watch(int fd, std::uint32_t events, OnEvents callback);
  Timer after(Clock::duration delay, OnTime callback) {
    return at(Clock::now() + delay, std::move(callback));
  }
  Timer at(Clock::time_point when, OnTime callback);
  // Keeps an object whose own callback is running until the end of the step.
  void bury(std::shared_ptr<void> object) { buried_.push_back(std::move(object)); }
  // Nothing is called any more; the handles that are still there may go at any time before this.
  void close();

 private:
  void run_timers();

  OwnedFd epoll_;
  std::uint64_t next_token_ = 1;
  std::unordered_map<std::uint64_t, std::shared_ptr<OnEvents>> watches_;
  std::map<std::pair<Clock::time_point, std::uint64_t>, OnTime> timers_;
  std::vector<std::shared_ptr<void>> buried_;
};

}  // namespace sbx
