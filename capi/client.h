// SPDX-License-Identifier: Apache-2.0
// The client's end of a session's socket: calls out, answers and notifications in, from any number
// of threads without one of its own. One of the threads that wait reads for all of them, and wakes
// only those that it has something for.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "events.h"
#include "helper.h"

namespace sbx {

class Client {
 public:
  // `patience`: how long the server may be silent where it has to do something at once.
  Client(Helper helper, std::chrono::milliseconds patience)
      : helper_(std::move(helper)), patience_(patience) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Waits for the server's first line, which brings the operator's token. A server that is late is
  // killed. Errors: those that the server starts with; kSessionFailed.
  Status open();

  Result<std::string> call(std::string_view method, std::string_view params);
  Result<std::uint64_t> submit(std::string_view method, std::string_view params);
  // nullopt: none in time. `timeout_ms` -1: without end. Errors: kSessionFailed.
  Result<std::optional<std::string>> next(int timeout_ms);
  Status cancel(std::uint64_t id);

  // Makes every call in progress fail, and returns when none is left.
  void end();
  // For a forked child: closes its copies. What its parent's threads were in the middle of stays.
  void abandon();
  bool is_mine() const { return helper_.is_mine(); }

  int poll_fd() const { return epoll_.get(); }
  const std::string& token() const { return token_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Clock = std::chrono::steady_clock;
  // A thread that waits behind the one that reads.
  struct Waiter {
    std::condition_variable woken;
    bool wants_events = false;
  };
  struct Answer {
    bool is_error = false;
    std::string json;
  };
  struct Call {
    Waiter* waiter = nullptr;
    std::optional<Answer> answer;
  };
  // While a thread is in a call: end() waits for it.
  class Use;

  Status check_usable() const;
  Status send(std::string_view line);
  Status send_whole(std::string_view line);
  // Waits for something to arrive, as the one that reads or behind the one that does.
  void wait(Lock& lock, Waiter& waiter, int timeout_ms);
  // Whoever waited has got what it wanted: another one reads from now on.
  void hand_over();
  void read_some();
  void take_line(std::string_view line);
  void skip_line();
  void deliver(std::uint64_t id, bool is_error, std::string body);
  void set_ready();
  void wake_for_event();
  void lose(Error why);
  Error gone() const;

  Helper helper_;
  std::chrono::milliseconds patience_;
  std::string token_;
  OwnedFd events_ready_;  // eventfd: readable while events_ is not empty, or the session is gone
  OwnedFd epoll_;

  std::mutex write_mutex_;  // taken before mutex_, never the other way
  std::mutex mutex_;
  std::vector<Waiter*> waiters_;
  bool is_reading_ = false;
  int users_ = 0;
  std::condition_variable unused_;
  std::optional<Error> gone_;
  std::array<char, 65536> chunk_{};  // not on the stack: a host's threads may have small ones
  std::string buffer_;
  std::size_t scanned_ = 0;
  bool skips_line_ = false;  // up to its end, which has not come
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Call> calls_;
  std::set<std::uint64_t> submitted_;
  EventQueue events_;
  std::optional<std::string> first_line_;
  bool wants_first_line_ = true;
};

}  // namespace sbx
