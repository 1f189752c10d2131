// SPDX-License-Identifier: Apache-2.0
// What follows the calls: answers and events. Answers are queued and sent when nothing is being
// walked, so that a reply may call again.
#include <algorithm>
#include <iterator>
#include <utility>

#include "session/service.h"

namespace sbx {

// --- answers ---

// An error is the answer; else it has been given, or will be.
void Service::finish(Ask& ask, Status status) {
  if (!status.ok()) answer(std::move(ask), std::move(status.error()));
  send_answers();
}

void Service::answer(Ask ask, Result<TaskPointer> result, bool is_large) {
  answers_.push_back({std::move(ask), std::move(result), is_large});
}

Service::CallKey Service::await(Ask ask, Waits waits, TaskPointer task,
                                std::optional<std::int64_t> timeout_ms) {
  Call call{std::move(ask), waits, std::move(task), std::nullopt};
  if (timeout_ms) call.until = Clock::now() + Milliseconds(*timeout_ms);
  calls_.emplace(next_call_, std::move(call));
  return next_call_++;
}

void Service::answer_call(CallKey key, Result<TaskPointer> result) {
  const auto found = calls_.find(key);
  if (found == calls_.end()) return;
  Call call = std::move(found->second);
  calls_.erase(found);
  answer(std::move(call.ask), std::move(result), call.waits == Waits::kEnd);
}

void Service::answer_call(CallKey key) {
  const auto found = calls_.find(key);
  if (found != calls_.end()) answer_call(key, found->second.task);
}

// What never began is no task.
void Service::answer_begun(CallKey key) {
  Call call = std::move(calls_.at(key));
  calls_.erase(key);
  --beginning_;
  const Outcome* const outcome = call.task->outcome();
  if (outcome != nullptr &&
      (outcome->status == RunStatus::kError || outcome->status == RunStatus::kCancelled)) {
    session_.forget(*call.task);
  } else if (call.follower) {
    follow(call.ask.client, call.task, std::move(*call.follower));
  }
  answer(std::move(call.ask), call.task);
}

void Service::answer_begun(std::vector<TaskPointer>& told) {
  if (beginning_ == 0) return;
  std::vector<CallKey> found;
  for (const auto& [key, call] : calls_) {
    if (call.waits != Waits::kBegin || !call.task->has_begun()) continue;
    if (call.is_cancelled && call.task->outcome() == nullptr) continue;
    found.push_back(key);
    if (std::find(told.begin(), told.end(), call.task) == told.end()) told.push_back(call.task);
  }
  for (const CallKey key : found) answer_begun(key);
}

void Service::answer_ended(const TaskPointer& task) {
  std::vector<CallKey> found;
  for (const auto& [key, call] : calls_) {
    const bool waits_for_end = call.waits == Waits::kRun || call.waits == Waits::kEnd;
    if (call.task == task && waits_for_end) found.push_back(key);
  }
  for (const CallKey key : found) answer_call(key);
}

// Waits that have lasted long enough: the answer says that the task still runs.
void Service::answer_late() {
  std::vector<CallKey> late;
  const auto now = Clock::now();
  for (const auto& [key, call] : calls_) {
    if (call.until && *call.until <= now) late.push_back(key);
  }
  for (const CallKey key : late) {
    if (calls_.at(key).waits == Waits::kBegin) {
      answer_begun(key);
    } else {
      answer_call(key);
    }
  }
}

void Service::answer_resets() {
  if (session_.is_resetting()) return;
  std::vector<CallKey> found;
  for (const auto& [key, call] : calls_) {
    if (call.waits == Waits::kReset) found.push_back(key);
  }
  const Status& status = session_.reset_status();
  for (const CallKey key : found) {
    answer_call(key, status.ok() ? Result<TaskPointer>(TaskPointer())
                                 : Result<TaskPointer>(Status(status).error()));
  }
}

void Service::send_answers() {
  if (is_sending_) return;
  is_sending_ = true;
  while (!answers_.empty()) {
    Answer answer = std::move(answers_.front());
    answers_.pop_front();
    if (!clients_.contains(answer.ask.client) || !answer.ask.reply) continue;
    if (answer.is_large && is_slow(answer.ask.client)) {
      held_answers_.push_back(std::move(answer));
      is_held_ = true;
    } else {
      answer.ask.reply(std::move(answer.result));
    }
  }
  is_sending_ = false;
}

// --- followers ---

void Service::follow(ClientId client, const TaskPointer& task, Follower follower) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !found->second.notify) return;
  following_.insert_or_assign({task.get(), client}, Following{task, std::move(follower), false});
  is_held_ = true;  // step() tells it what there is already
}

// True when there is nothing more to come.
bool Service::tell(const FollowKey& key, Following& following, bool at_once) {
  const Task& task = *following.task;
  const Follower::Notify notify = notify_of(key.second);
  if (!task.cancel_reason().empty() && !following.is_told_of_cancel && !task.id().empty()) {
    following.is_told_of_cancel = true;
    notify({TaskEvent::Kind::kCancelled, task});
  }
  do {
    if (!at_once && is_slow(key.second)) {
      is_held_ = true;
      return false;
    }
  } while (following.follower.tell(task, notify));
  if (task.is_running()) return false;
  if (!task.id().empty()) notify({TaskEvent::Kind::kExit, task});
  return true;
}

void Service::tell_followers(const Task& task) {
  for (auto at = following_.lower_bound({&task, 0});
       at != following_.end() && at->first.first == &task;) {
    // What ended with a reset, or without a name, is not remembered for a slow client.
    const bool is_last = !task.is_running() && session_.find(task.id()).get() != &task;
    at = tell(at->first, at->second, is_last) ? following_.erase(at) : std::next(at);
  }
}

}  // namespace sbx
