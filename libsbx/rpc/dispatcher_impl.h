// SPDX-License-Identifier: Apache-2.0
// The inside of the Dispatcher: clients, the calls that wait for something, and who follows which
// task. methods.cc holds what each method does, dispatcher.cc what happens afterwards.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "report/audit_log.h"
#include "rpc/dispatcher.h"
#include "rpc/follower.h"
#include "rpc/method_params.h"

namespace sbx {

class Dispatcher::Impl {
 public:
  using Clock = Session::Clock;

  explicit Impl(SessionOptions options)
      : session_(std::move(options)),
        audit_(Audit::open(session_.options().policy, session_.options().name)) {}

  ClientId add_client(ClientOptions options);
  void remove_client(ClientId client);
  void set_tool_handler(ToolHandler handler) { tool_handler_ = std::move(handler); }
  void call(ClientId client, std::string_view id, std::string_view method, std::string_view params,
            Reply reply, const Policy* policy);
  bool cancel(ClientId client, const std::string& id);

  int poll_fd() const { return session_.poll_fd(); }
  std::optional<Clock::time_point> deadline() const;
  void step();
  bool is_idle() const { return session_.is_idle(); }
  void end_all();
  bool wants_shutdown() const { return shutdown_ || session_.has_lost_owner(); }

 private:
  // A call that is being answered.
  struct Caller {
    ClientId client = 0;
    std::string id;  // normal_id(); empty: cannot be cancelled
    Reply reply;
  };
  enum class Waits : std::uint8_t { kRun, kBegin, kEnd, kStdin, kReset };
  // A call that waits for something to happen.
  struct Call {
    Caller caller;
    Waits waits = Waits::kEnd;
    Session::TaskPointer task;  // null for kReset
    std::optional<Clock::time_point> until;
    std::optional<Follower> follower{};  // of kBegin: for the caller, once it knows the task
    bool is_cancelled = false;           // the task's end is the answer, even if it has begun
  };
  using CallKey = std::uint64_t;
  struct Following {
    Session::TaskPointer task;
    Follower follower;
    bool is_told_of_cancel = false;
  };
  using FollowKey = std::pair<const Task*, ClientId>;
  struct Answer {
    ClientId client = 0;
    Reply reply;
    Result<std::string> result;
    // Not null: its status is the result, written down only when the client takes it. Thousands may
    // wait for one task, and each status holds all of its output.
    Session::TaskPointer status_of;
  };

  // --- methods.cc ---
  Status dispatch(Caller& caller, std::string_view method, std::string_view params);
  Result<Session::TaskPointer> start(TaskKind kind, Request request);
  Status call_run(Caller& caller, std::string_view params);
  Status call_start(Caller& caller, std::string_view params);
  Status call_tool(Caller& caller, std::string_view params);
  Status call_cancel(Caller& caller, std::string_view params);
  Status call_explain(Caller& caller, std::string_view params);
  Status call_check(Caller& caller, std::string_view params);
  const Policy& policy() const;  // of the tool that is being called, else the session's
  Status call_output(Caller& caller, const MethodParams& params, const Session::TaskPointer& task);
  Status call_stdin(Caller& caller, const MethodParams& params, const Session::TaskPointer& task);
  Status call_on_task(Caller& caller, std::string_view method, const MethodParams& params);
  Status call_on_session(Caller& caller, std::string_view method, const MethodParams& params);

  // --- dispatcher.cc ---
  void answer(const Caller& caller, Result<std::string> result);
  CallKey wait(Caller caller, Waits waits, Session::TaskPointer task,
               std::optional<std::int64_t> timeout_ms = std::nullopt);
  void answer_call(CallKey key, Result<std::string> result);
  void answer_status(CallKey key);
  void answer_begun(CallKey key);
  void answer_begun(std::vector<Session::TaskPointer>& told);
  void answer_ended(const Session::TaskPointer& task);
  void answer_late();
  void answer_resets();
  void send_answers();
  void follow(ClientId client, const Session::TaskPointer& task, Follower follower);
  void tell_followers(const Task& task);
  bool tell(const FollowKey& key, Following& following, bool at_once);
  bool is_slow(ClientId client) const;
  Follower::Notify notify_of(ClientId client) const;

  Session session_;
  Result<Audit> audit_;
  const Policy* policy_ = nullptr;  // of the call that is being dispatched; null: the session's
  ToolHandler tool_handler_;
  std::map<ClientId, ClientOptions> clients_;
  ClientId next_client_ = 1;
  std::map<CallKey, Call> calls_;
  CallKey next_call_ = 1;
  std::size_t beginning_ = 0;  // calls of kBegin
  std::map<FollowKey, Following> following_;
  bool is_held_ = false;  // something could not be told to a slow client
  std::deque<Answer> answers_;
  std::deque<Answer> held_answers_;  // for clients that are slow
  bool is_sending_ = false;
  bool shutdown_ = false;
};

}  // namespace sbx
