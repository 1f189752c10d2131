// SPDX-License-Identifier: Apache-2.0
// What sbx_next() hands out, in the order of arrival and within bounds: a host that does not take
// its notifications loses the latest of them, and is told how many. Values only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace sbx {

// Bytes of events that wait. Stated in sbx.h and docs/c-abi.md.
constexpr std::size_t kMostOutputBytes = std::size_t{16} << 20;  // else output and matches go
constexpr std::size_t kMostNoticeBytes = std::size_t{20} << 20;  // else every notification does
constexpr std::size_t kMostSubmitBytes = std::size_t{64} << 20;  // else nothing more is submitted

class EventQueue {
 public:
  // The answer to a call that the host submitted: never dropped.
  void push_answer(std::string event);
  void push_notification(std::string_view method, std::string_view params);

  bool is_empty() const { return events_.empty(); }
  std::size_t bytes() const { return bytes_; }
  // Only of a queue that is not empty.
  std::string pop();

 private:
  // Either one event, or what was dropped at this place.
  struct Event {
    std::string text;
    std::uint64_t dropped = 0;
    std::uint64_t dropped_bytes = 0;
  };

  void push(std::string text);

  std::deque<Event> events_;
  std::size_t bytes_ = 0;
};

}  // namespace sbx
