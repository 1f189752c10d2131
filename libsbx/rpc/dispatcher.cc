// SPDX-License-Identifier: Apache-2.0
// What happens after a call: answers, notifications, and clients that leave. Answers are queued and
// sent when nothing is being walked, so that a reply may call again.
#include "rpc/dispatcher.h"

#include <algorithm>
#include <vector>

#include "json/writer.h"
#include "report/json.h"
#include "rpc/dispatcher_impl.h"
#include "rpc/task_json.h"

namespace sbx {
namespace {

constexpr std::size_t kSlowBytes = std::size_t{256} << 10;
constexpr std::chrono::milliseconds kLookAtSlowAgain{20};
constexpr std::chrono::milliseconds kGrace{2000};

std::string cancelled_json(const Task& task) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("task_id");
  json.string(task.id());
  json.key("reason");
  json.string(task.cancel_reason());
  json.end_object();
  return text;
}

}  // namespace

// --- clients ---

ClientId Dispatcher::Impl::add_client(ClientOptions options) {
  clients_.emplace(next_client_, std::move(options));
  return next_client_++;
}

void Dispatcher::Impl::remove_client(ClientId client) {
  clients_.erase(client);
  std::erase_if(following_, [&](const auto& entry) { return entry.first.second == client; });
  for (auto at = calls_.begin(); at != calls_.end();) {
    if (at->second.caller.client != client) {
      ++at;
      continue;
    }
    if (at->second.waits == Waits::kRun) session_.cancel(*at->second.task);
    if (at->second.waits == Waits::kBegin) --beginning_;  // its task goes on
    at = calls_.erase(at);
  }
}

bool Dispatcher::Impl::is_slow(ClientId client) const {
  const auto found = clients_.find(client);
  return found != clients_.end() && found->second.queued_bytes &&
         found->second.queued_bytes() > kSlowBytes;
}

Follower::Notify Dispatcher::Impl::notify_of(ClientId client) const {
  return [this, client](std::string_view method, std::string_view params) {
    const auto found = clients_.find(client);
    if (found != clients_.end() && found->second.notify) found->second.notify(method, params);
  };
}

// --- calls ---

void Dispatcher::Impl::call(ClientId client, std::string_view id, std::string_view method,
                            std::string_view params, Reply reply, const Policy* policy) {
  Caller caller{client, id.empty() ? std::string() : normal_id(id), std::move(reply)};
  if (clients_.contains(client)) {
    const Policy* const outer = std::exchange(policy_, policy);
    Status status = dispatch(caller, method, params.empty() ? "{}" : params);
    policy_ = outer;
    if (!status.ok()) answer(caller, std::move(status.error()));
  }
  send_answers();
}

bool Dispatcher::Impl::cancel(ClientId client, const std::string& id) {
  std::vector<CallKey> found;
  for (const auto& [key, call] : calls_) {
    if (call.caller.client == client && !id.empty() && call.caller.id == id) found.push_back(key);
  }
  for (const CallKey key : found) {
    Call& call = calls_.at(key);
    if (call.waits == Waits::kRun || call.waits == Waits::kBegin) {
      call.is_cancelled = true;
      session_.cancel(*call.task);
    } else {
      answer_call(key, Error{ErrorCode::kCancelled, "the request was cancelled", "", ""});
    }
  }
  return !found.empty();
}

void Dispatcher::Impl::answer(const Caller& caller, Result<std::string> result) {
  answers_.push_back({caller.client, caller.reply, std::move(result), nullptr});
}

Dispatcher::Impl::CallKey Dispatcher::Impl::wait(Caller caller, Waits waits,
                                                 Session::TaskPointer task,
                                                 std::optional<std::int64_t> timeout_ms) {
  Call call{std::move(caller), waits, std::move(task), std::nullopt, std::nullopt};
  if (timeout_ms) call.until = Clock::now() + std::chrono::milliseconds(*timeout_ms);
  calls_.emplace(next_call_, std::move(call));
  return next_call_++;
}

void Dispatcher::Impl::answer_call(CallKey key, Result<std::string> result) {
  const auto found = calls_.find(key);
  if (found == calls_.end()) return;
  const Caller caller = std::move(found->second.caller);
  calls_.erase(found);
  answer(caller, std::move(result));
}

void Dispatcher::Impl::answer_status(CallKey key) {
  Call& call = calls_.at(key);
  answers_.push_back({call.caller.client, std::move(call.caller.reply), std::string(), call.task});
  calls_.erase(key);
}

// What never began is no task: the answer is its result.
void Dispatcher::Impl::answer_begun(CallKey key) {
  Call call = std::move(calls_.at(key));
  calls_.erase(key);
  --beginning_;
  const Outcome* const outcome = call.task->outcome();
  if (outcome != nullptr &&
      (outcome->status == RunStatus::kError || outcome->status == RunStatus::kCancelled)) {
    session_.forget(*call.task);
    return answer(call.caller, outcome_to_json(*outcome));
  }
  answer(call.caller, started_json(*call.task));
  if (call.follower) follow(call.caller.client, call.task, std::move(*call.follower));
}

void Dispatcher::Impl::answer_begun(std::vector<Session::TaskPointer>& told) {
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

void Dispatcher::Impl::answer_ended(const Session::TaskPointer& task) {
  std::vector<std::pair<CallKey, Waits>> found;
  for (const auto& [key, call] : calls_) {
    if (call.task == task) found.emplace_back(key, call.waits);
  }
  for (const auto& [key, waits] : found) {
    if (waits == Waits::kRun) answer_call(key, outcome_to_json(*task->outcome()));
    if (waits == Waits::kEnd) answer_status(key);
  }
}

// Waits that have lasted long enough: the answer says that the task still runs.
void Dispatcher::Impl::answer_late() {
  std::vector<CallKey> late;
  const auto now = Clock::now();
  for (const auto& [key, call] : calls_) {
    if (call.until && *call.until <= now) late.push_back(key);
  }
  for (const CallKey key : late) {
    if (calls_.at(key).waits == Waits::kBegin) {
      answer_begun(key);
    } else {
      answer_status(key);
    }
  }
}

void Dispatcher::Impl::answer_resets() {
  if (session_.is_resetting()) return;
  std::vector<CallKey> found;
  for (const auto& [key, call] : calls_) {
    if (call.waits == Waits::kReset) found.push_back(key);
  }
  for (const CallKey key : found) {
    const Status& status = session_.reset_status();
    if (status.ok()) {
      answer_call(key, std::string("{\"workspace_cleared\":") +
                           (session_.options().own_workspace ? "true}" : "false}"));
    } else {
      answer_call(key, Status(status).error());
    }
  }
}

void Dispatcher::Impl::send_answers() {
  if (is_sending_) return;
  is_sending_ = true;
  while (!answers_.empty()) {
    const Answer answer = std::move(answers_.front());
    answers_.pop_front();
    if (!clients_.contains(answer.client) || !answer.reply) continue;
    if (answer.status_of == nullptr) {
      answer.reply(answer.result);
    } else if (is_slow(answer.client)) {
      held_answers_.push_back(answer);
      is_held_ = true;
    } else {
      answer.reply(status_json(*answer.status_of));
    }
  }
  is_sending_ = false;
}

// --- followers ---

void Dispatcher::Impl::follow(ClientId client, const Session::TaskPointer& task,
                              Follower follower) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || !found->second.notify) return;
  following_.insert_or_assign({task.get(), client}, Following{task, std::move(follower), false});
  is_held_ = true;  // step() tells it what there is already
}

// True when there is nothing more to come.
bool Dispatcher::Impl::tell(const FollowKey& key, Following& following, bool at_once) {
  const Task& task = *following.task;
  const Follower::Notify notify = notify_of(key.second);
  if (!task.cancel_reason().empty() && !following.is_told_of_cancel && !task.id().empty()) {
    following.is_told_of_cancel = true;
    notify("task.cancelled", cancelled_json(task));
  }
  do {
    if (!at_once && is_slow(key.second)) {
      is_held_ = true;
      return false;
    }
  } while (following.follower.tell(task, notify));
  if (task.is_running()) return false;
  if (!task.id().empty()) notify("task.exit", exit_json(task));
  return true;
}

void Dispatcher::Impl::tell_followers(const Task& task) {
  for (auto at = following_.lower_bound({&task, 0});
       at != following_.end() && at->first.first == &task;) {
    // What ended with a reset, or without a name, is not remembered for a slow client.
    const bool is_last = !task.is_running() && session_.find(task.id()).get() != &task;
    at = tell(at->first, at->second, is_last) ? following_.erase(at) : std::next(at);
  }
}

// --- the loop ---

std::optional<Dispatcher::Impl::Clock::time_point> Dispatcher::Impl::deadline() const {
  auto until = session_.deadline().value_or(Clock::time_point::max());
  if (!answers_.empty()) until = Clock::now();
  if (is_held_) until = std::min(until, Clock::now() + kLookAtSlowAgain);
  for (const auto& [key, call] : calls_) {
    if (call.until) until = std::min(until, *call.until);
  }
  return until == Clock::time_point::max() ? std::nullopt : std::optional(until);
}

void Dispatcher::Impl::step() {
  session_.step();
  const std::vector<Session::TaskPointer> changed = session_.take_changed();
  std::vector<Session::TaskPointer> told = changed;
  if (std::exchange(is_held_, false)) {
    for (const auto& [key, following] : following_) {
      if (told.empty() || told.back() != following.task) told.push_back(following.task);
    }
    answers_.insert(answers_.end(), held_answers_.begin(), held_answers_.end());
    held_answers_.clear();
  }
  answer_begun(told);
  send_answers();  // of a start, before what its task says
  for (const Session::TaskPointer& task : told) tell_followers(*task);
  for (const Session::TaskPointer& task : changed) {
    if (task->is_running()) continue;
    if (audit_.ok()) audit_.value().record(*task->outcome());
    answer_ended(task);
  }
  answer_late();
  answer_resets();
  send_answers();
}

void Dispatcher::Impl::end_all() { session_.end_all("shutdown", kGrace); }

// --- the outside ---

Dispatcher::Dispatcher(SessionOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
Dispatcher::~Dispatcher() = default;
ClientId Dispatcher::add_client(ClientOptions options) {
  return impl_->add_client(std::move(options));
}
void Dispatcher::remove_client(ClientId client) { impl_->remove_client(client); }
void Dispatcher::set_tool_handler(ToolHandler handler) {
  impl_->set_tool_handler(std::move(handler));
}
void Dispatcher::call(ClientId client, std::string_view id, std::string_view method,
                      std::string_view params, Reply reply, const Policy* policy) {
  impl_->call(client, id, method, params, std::move(reply), policy);
}
void Dispatcher::cancel(ClientId client, std::string_view id) {
  (void)impl_->cancel(client, normal_id(id));
}
int Dispatcher::poll_fd() const { return impl_->poll_fd(); }
std::optional<std::chrono::steady_clock::time_point> Dispatcher::deadline() const {
  return impl_->deadline();
}
void Dispatcher::step() { impl_->step(); }
bool Dispatcher::is_idle() const { return impl_->is_idle(); }
void Dispatcher::end_all() { impl_->end_all(); }
bool Dispatcher::wants_shutdown() const { return impl_->wants_shutdown(); }

}  // namespace sbx
