// SPDX-License-Identifier: Apache-2.0
// The client's end of a session's socket: calls out, answers and notifications in, from any number
// of threads without one of its own. One of the threads that wait reads for all of them.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "base/result.h"
#include "helper.h"

namespace sbx {

class Client {
 public:
  explicit Client(Helper helper) : helper_(std::move(helper)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Waits for the server's first line, which brings the operator's token.
  // Errors: those that the server starts with; kSessionFailed.
  Status open();

  Result<std::string> call(std::string_view method, std::string_view params);
  Result<std::uint64_t> submit(std::string_view method, std::string_view params);
  // nullopt: none in time. `timeout_ms` -1: without end. Errors: kSessionFailed.
  Result<std::optional<std::string>> next(int timeout_ms);
  Status cancel(std::uint64_t id);

  int poll_fd() const { return epoll_.get(); }
  const std::string& token() const { return token_; }

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Answer {
    bool is_error = false;
    std::string json;
  };

  Status send(std::string_view line);
  // Waits for something to arrive, as the one that reads or for the one that does.
  void wait(Lock& lock, int timeout_ms);
  bool read_some();
  void take_line(std::string_view line);
  void queue_event(std::string event);
  Error gone() const;

  Helper helper_;
  std::string token_;
  OwnedFd events_ready_;  // eventfd: readable while events_ is not empty, or the session is gone
  OwnedFd epoll_;

  std::mutex write_mutex_;  // taken before mutex_, never the other way
  std::mutex mutex_;
  std::condition_variable arrived_;
  bool is_reading_ = false;
  std::optional<Error> gone_;
  std::string buffer_;
  std::size_t scanned_ = 0;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, std::optional<Answer>> calls_;
  std::set<std::uint64_t> submitted_;
  std::deque<std::string> events_;
  std::optional<std::string> first_line_;
  bool wants_first_line_ = true;
};

}  // namespace sbx
