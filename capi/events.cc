// SPDX-License-Identifier: Apache-2.0
// Output goes first when there is too much: `output` brings it again, while the end of a task is
// told once.
#include "events.h"

#include <utility>

namespace sbx {
namespace {

// What a queued event takes besides its text; else very many small ones would be free.
constexpr std::size_t kEventBytes = 64;

}  // namespace

void EventQueue::push(std::string text) {
  bytes_ += text.size() + kEventBytes;
  events_.push_back({std::move(text), 0, 0});
}

void EventQueue::push_answer(std::string event) { push(std::move(event)); }

void EventQueue::push_notification(std::string_view method, std::string_view params) {
  const bool is_output = method == "task.output" || method == "task.match";
  if (bytes_ < (is_output ? kMostOutputBytes : kMostNoticeBytes)) {
    std::string text = "{\"method\":\"";
    text.append(method).append("\",\"params\":").append(params).append("}");
    return push(std::move(text));
  }
  if (events_.empty() || events_.back().dropped == 0) push("");
  ++events_.back().dropped;
  events_.back().dropped_bytes += params.size();
}

std::string EventQueue::pop() {
  Event event = std::move(events_.front());
  events_.pop_front();
  bytes_ -= event.text.size() + kEventBytes;
  if (event.dropped == 0) return std::move(event.text);
  return "{\"method\":\"events.dropped\",\"params\":{\"notifications\":" +
         std::to_string(event.dropped) + ",\"bytes\":" + std::to_string(event.dropped_bytes) + "}}";
}

}  // namespace sbx
