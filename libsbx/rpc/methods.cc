// SPDX-License-Identifier: Apache-2.0
// What each method does with its params. A Status that is an error is the answer; else the answer
// has been given, or will be.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/hex.h"
#include "base/text.h"
#include "policy/exec_size.h"
#include "policy/request.h"
#include "report/explain.h"
#include "report/json.h"
#include "report/judgement.h"
#include "rpc/dispatcher_impl.h"
#include "rpc/params.h"
#include "rpc/task_json.h"

namespace sbx {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kGraceMs = 2000;
// A program may lie where an exec takes its time: the answer to `start` does not wait for that.
constexpr std::int64_t kLongestBeginMs = 20'000;

// docs/sessions.md says what each does.
constexpr auto kMethods = std::to_array<std::string_view>(
    {"run", "start", "status", "output", "stdin", "wait", "kill", "list", "reset", "check",
     "explain", "tool", "approve", "cancel", "shutdown"});

}  // namespace

std::span<const std::string_view> method_names() { return kMethods; }

namespace {

Error unknown_method(std::string_view method) {
  const auto nearest = nearest_name(method, kMethods);
  const std::vector<std::string> names(kMethods.begin(), kMethods.end());
  return Error{
      ErrorCode::kUnknownMethod, "no such method: " + escape_control_bytes(method.substr(0, 100)),
      "",
      nearest ? "did you mean \"" + std::string(*nearest) + "\"?" : "one of " + join(names, ", ")};
}

milliseconds grace_of(const MethodParams& params) {
  return milliseconds(params.grace_ms.value_or(kGraceMs));
}

}  // namespace

Status Dispatcher::Impl::dispatch(Caller& caller, std::string_view method,
                                  std::string_view params) {
  if (method == "run") return call_run(caller, params);
  if (method == "start") return call_start(caller, params);
  if (method == "explain") return call_explain(caller, params);
  if (method == "check") return call_check(caller, params);
  if (method == "tool") return call_tool(caller, params);
  if (method == "cancel") return call_cancel(caller, params);
  const ObjectSpec* spec = method_spec(method);
  if (spec == nullptr) return unknown_method(method);
  SBX_TRY(const nlohmann::json document, read_params(params));
  SBX_TRY(const MethodParams decoded, decode_method_params(document, *spec));
  session_.forget_old();
  if (decoded.task_id.empty()) return call_on_session(caller, method, decoded);
  return call_on_task(caller, method, decoded);
}

// --- commands ---

// What ends at once is logged here, the rest when it ends: step().
Result<Session::TaskPointer> Dispatcher::Impl::start(TaskKind kind, Request request) {
  if (!audit_.ok()) return audit_.error();
  SBX_TRY(const Session::TaskPointer task, session_.start(kind, std::move(request), policy_));
  if (!task->is_running()) audit_.value().record(*task->outcome());
  return task;
}

Status Dispatcher::Impl::call_run(Caller& caller, std::string_view params) {
  SBX_TRY(nlohmann::json document, read_params(params));
  SBX_TRY(const MethodParams own, take_follower_params(document, false));
  SBX_TRY(Request request, decode_request(document));
  const bool is_streamed = own.stream.value_or(false);
  SBX_TRY(const Session::TaskPointer task,
          start(is_streamed ? TaskKind::kStreamedRun : TaskKind::kRun, std::move(request)));
  if (!task->is_running()) {
    answer(caller, outcome_to_json(*task->outcome()));
    return {};
  }
  if (is_streamed) {
    SBX_TRY(Follower follower, Follower::make("", 0, caller.id.empty() ? "null" : caller.id));
    follow(caller.client, task, std::move(follower));
  }
  wait(std::move(caller), Waits::kRun, task);
  return {};
}

Status Dispatcher::Impl::call_start(Caller& caller, std::string_view params) {
  SBX_TRY(nlohmann::json document, read_params(params));
  SBX_TRY(const MethodParams own, take_follower_params(document, true));
  SBX_TRY(Request request, decode_request(document));
  SBX_TRY(Follower follower, Follower::make(own.match, 0));
  SBX_TRY(const Session::TaskPointer task, start(TaskKind::kTask, std::move(request)));
  if (!task->is_running()) {
    answer(caller, outcome_to_json(*task->outcome()));
    return {};
  }
  // What keeps a command from beginning is known within a launch's few milliseconds, and is the
  // answer then.
  const CallKey key = wait(std::move(caller), Waits::kBegin, task, kLongestBeginMs);
  if (own.follow.value_or(true)) calls_.at(key).follower = std::move(follower);
  ++beginning_;
  return {};
}

const Policy& Dispatcher::Impl::policy() const {
  return policy_ == nullptr ? session_.options().policy : *policy_;
}

Status Dispatcher::Impl::call_check(Caller& caller, std::string_view params) {
  SBX_TRY(const nlohmann::json document, read_params(params));
  SBX_TRY(const Request request, decode_request(document));
  SBX_TRY(const Policy own, apply_request(policy(), request));
  const SessionOptions& options = session_.options();
  const Environment base = make_environment(own, options.inherited, options.facts.user_name);
  if (Status size = check_exec_size(own, request, base); !size.ok())
    return named_by_request(size.error());
  SBX_TRY(const Judgement judgement, judge(own, request));
  answer(caller, judgement_to_json(judgement));
  return {};
}

Status Dispatcher::Impl::call_explain(Caller& caller, std::string_view params) {
  SBX_TRY(const nlohmann::json document, read_params(params));
  SBX_TRY(const Request request, decode_request(document));
  SBX_TRY(const Policy own, apply_request(policy(), request));
  RunInput input{own, request, session_.options().facts, session_.options().inherited};
  input.merge = request.merge;
  const Result<LaunchPlan> plan = plan_command(input);
  if (!plan.ok()) return named_by_request(plan.error());
  SBX_TRY(const Judgement judgement, judge(own, request));
  answer(caller, explain_json(plan.value(), own, judgement));
  return {};
}

Status Dispatcher::Impl::call_tool(Caller& caller, std::string_view params) {
  SBX_TRY(nlohmann::json document, read_params(params));
  SBX_TRY(const MethodParams decoded, decode_tool_params(std::move(document)));
  if (!tool_handler_) {
    return Error{ErrorCode::kUnknownMethod,
                 "no such tool: " + escape_control_bytes(decoded.name.substr(0, 100)), "/name",
                 "this session has no tools"};
  }
  tool_handler_(caller.client, caller.id, decoded.name, decoded.params, caller.reply);
  return {};
}

Status Dispatcher::Impl::call_cancel(Caller& caller, std::string_view params) {
  SBX_TRY(const nlohmann::json document, read_params(params));
  SBX_TRY(const std::string id, decode_cancel_params(document));
  const bool is_found = cancel(caller.client, id);
  answer(caller, std::string(is_found ? R"({"cancelled":true})" : R"({"cancelled":false})"));
  return {};
}

// --- tasks ---

Status Dispatcher::Impl::call_on_task(Caller& caller, std::string_view method,
                                      const MethodParams& params) {
  const Session::TaskPointer task = session_.find(params.task_id);
  if (task == nullptr) {
    return Error{ErrorCode::kTaskNotFound,
                 "no such task: " + escape_control_bytes(params.task_id.substr(0, 100)), "/task_id",
                 "`list` names those that there are; ended ones are kept for a while"};
  }
  if (method == "output") return call_output(caller, params, task);
  if (method == "stdin") return call_stdin(caller, params, task);
  if (method == "kill") session_.terminate(*task, grace_of(params));
  const bool is_over = method == "status" || !task->is_running();
  if (is_over) {
    answer(caller, status_json(*task));
  } else {
    wait(std::move(caller), Waits::kEnd, task, params.timeout_ms);
  }
  return {};
}

Status Dispatcher::Impl::call_output(Caller& caller, const MethodParams& params,
                                     const Session::TaskPointer& task) {
  if (params.since > task->output().end()) {
    return Error{
        ErrorCode::kOutOfRange,
        "must be at most " + std::to_string(task->output().end()) + ", where the output ends",
        "/since", "give the \"next\" of the answer before"};
  }
  if (params.follow.value_or(!params.match.empty())) {
    // The answer holds what there is, unless it is to come in the order in which it was written;
    // lines that match in it are told as well.
    const std::uint64_t end = task->output().end();
    const bool is_replayed = params.replay.value_or(false);
    const bool is_told = is_replayed || !params.match.empty();
    SBX_TRY(Follower follower, Follower::make(params.match, is_told ? params.since : end));
    answer(caller, output_json(*task, is_replayed ? end : params.since));
    follow(caller.client, task, std::move(follower));
    return {};
  }
  answer(caller, output_json(*task, params.since));
  return {};
}

Status Dispatcher::Impl::call_stdin(Caller& caller, const MethodParams& params,
                                    const Session::TaskPointer& task) {
  if (!task->is_running()) {
    return Error{ErrorCode::kBadValue, "the task has ended", "/task_id", "start it again"};
  }
  const std::size_t size = params.text.size();
  const bool close = params.close;
  const CallKey key = wait(caller, Waits::kStdin, task);
  Status pushed = task->input().push(params.text, close, [this, key, size, close](Status status) {
    answer_call(key, status.ok()
                         ? Result<std::string>("{\"written\":" + std::to_string(size) +
                                               ",\"closed\":" + (close ? "true}" : "false}"))
                         : Result<std::string>(std::move(status.error())));
  });
  if (!pushed.ok()) {
    calls_.erase(key);
    return pushed;
  }
  session_.write_stdin(*task);
  return {};
}

// --- the session ---

Status Dispatcher::Impl::call_on_session(Caller& caller, std::string_view method,
                                         const MethodParams& params) {
  if (method == "approve") {
    if (!clients_.at(caller.client).is_operator) {
      return Error{ErrorCode::kNotGranted, "only the operator's side approves", "",
                   "approve on the stdio of serve, or open the socket with the operator's token"};
    }
    const bool is_digest = params.digest.size() == 64 && is_hex(params.digest);
    if (!is_digest) {
      return Error{ErrorCode::kBadValue, "not a digest: 64 hexadecimal digits", "/digest",
                   "give the digest of an answer with status needs_approval"};
    }
    session_.approvals().grant(params.digest);
    answer(caller, std::string(R"({"approved":true})"));
    return {};
  }
  if (method == "reset") {
    session_.reset(grace_of(params));
    wait(std::move(caller), Waits::kReset, nullptr);
  } else if (method == "shutdown") {
    shutdown_ = true;
    session_.end_all("shutdown", grace_of(params));
    answer(caller, std::string("{}"));
  } else {
    answer(caller, list_json(session_));
  }
  return {};
}

}  // namespace sbx
