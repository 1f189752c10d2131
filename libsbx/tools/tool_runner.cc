// SPDX-License-Identifier: Apache-2.0
// One call of the service for each mode; a text for a task, and the start of a stream, are followed
// by another.
#include "tools/tool_runner.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "json/reader.h"

namespace sbx {
namespace {

using nlohmann::json;

// Of a task, `output` holds what there is from `since` on.
ToolResult result_of(const ToolCall& call, const TaskPointer& task, std::uint64_t since) {
  ToolResult result;
  const bool is_run = call.mode == ToolMode::kRun;
  const bool is_started = call.mode == ToolMode::kBackground && !task->never_began();
  if (!task->is_running() && !is_started) {
    result.outcome = std::shared_ptr<const Outcome>(task, task->outcome());
  }
  if (is_run) return result;
  result.task_id = task->id();
  result.pid = task->pid();
  result.started_at_ms = task->started_at_ms();
  result.uptime_ms = std::llround(task->uptime_seconds() * 1000);
  result.output = is_started ? TaskOutput::Text{} : task->output().read(since);
  return result;
}

}  // namespace

Result<const ToolRunner::Kept*> ToolRunner::policy_of(std::string_view tool) {
  const auto found = policies_.find(tool);
  if (found != policies_.end()) return &found->second;
  SBX_TRY(SharedPolicy policy, find_policy_(tool));
  Kept kept{std::move(policy), {}};
  kept.settings = tool_settings(*kept.policy);
  return &policies_.emplace(tool, std::move(kept)).first->second;
}

Result<ToolCall> ToolRunner::decode(std::string_view tool, std::string_view params) {
  if (tool_profile(tool).empty()) return decode_tool_call(tool, params, {});  // there is none
  Result<json> document = read_json_strict(params.empty() ? "{}" : params);
  if (!document.ok()) return refused({}, std::move(document.error()));
  return decode_params(tool, std::move(document).value());
}

Result<ToolCall> ToolRunner::decode_params(std::string_view tool, json params) {
  if (tool_profile(tool).empty()) return decode_tool_params(tool, std::move(params), {});
  SBX_TRY(const Kept* kept, policy_of(tool));
  std::string command;
  if (params.is_object() && params.contains("command") && params["command"].is_string()) {
    command = params["command"].get<std::string>();
  }
  Result<ToolCall> call = decode_tool_params(tool, std::move(params), kept->settings);
  if (!call.ok()) return refused(std::move(command), std::move(call.error()));
  return call;
}

Error ToolRunner::refused(std::string command, Error error) {
  refused_command_ = std::move(command);
  service_.record_refused(refused_command_, error);
  return error;
}

// The answer is the call's, unless another call is to follow.
Ask ToolRunner::ask(const std::shared_ptr<Running>& running, std::function<void()> next) {
  const auto reply = [this, running, next = std::move(next)](Result<TaskPointer> answer) {
    if (answer.ok() && next) return next();
    finish(*running, std::move(answer));
  };
  return {running->caller.client, running->caller.id, reply};
}

void ToolRunner::run(Caller caller, ToolCall call, Done done) {
  const auto running =
      std::make_shared<Running>(Running{std::move(caller), std::move(call), std::move(done)});
  const std::string& task = running->call.task_id;
  const ToolMode mode = running->call.mode;
  if (mode == ToolMode::kRun || mode == ToolMode::kBackground) {
    const Result<const Kept*> kept = policy_of(running->call.tool);
    if (!kept.ok()) return finish(*running, kept.error());
    RunCall command{running->call.request, kept.value()->policy};
    command.is_followed = mode == ToolMode::kBackground || running->caller.is_streamed;
    if (mode == ToolMode::kRun) return service_.run(ask(running), std::move(command));
    return service_.start(ask(running), std::move(command));
  }
  const auto status = [this, running] { service_.status(ask(running), running->call.task_id); };
  switch (mode) {
    case ToolMode::kPoll:
      return service_.output(ask(running), {task, cursor(task)});
    case ToolMode::kKill:
      return service_.kill(ask(running), task);
    case ToolMode::kStdin:
      return service_.write_stdin(ask(running, status), task, running->call.text, false);
    case ToolMode::kWait:
      return service_.wait(ask(running), task, running->call.timeout_ms);
    case ToolMode::kStream:
      return stream(running);
    default:
      return status();
  }
}

void ToolRunner::stream(const std::shared_ptr<Running>& running) {
  const auto next = [this, running] {
    const std::string& task = running->call.task_id;
    if (running->caller.waits_for_end) return service_.wait(ask(running), task, std::nullopt);
    service_.status(ask(running), task);
  };
  OutputCall wanted{running->call.task_id};
  wanted.is_followed = true;
  wanted.match = running->call.match;
  service_.output(ask(running, next), wanted);
}

void ToolRunner::finish(Running& running, Result<TaskPointer> answer) {
  ToolResult result;
  if (answer.ok()) {
    const bool is_poll = running.call.mode == ToolMode::kPoll;
    const std::string& task = running.call.task_id;
    result = result_of(running.call, answer.value(), is_poll ? cursor(task) : 0);
    if (is_poll) move_cursor(task, result.output->next);
  } else {
    std::string& named = running.call.task_id;  // where there is no such task, any text
    if (!named.empty()) named = service_.redacted({answer.error().code, named, "", ""}).message;
    result.error = service_.redacted(std::move(answer.error()));
  }
  result.cancelled_by = ended_by_;
  running.done(tool_answer(std::move(running.call), std::move(result)));
}

std::uint64_t ToolRunner::cursor(const std::string& task_id) const {
  const auto found = cursors_.find(task_id);
  return found == cursors_.end() ? 0 : found->second;
}

void ToolRunner::move_cursor(const std::string& task_id, std::uint64_t next) {
  // Tasks are forgotten long before so many have been polled.
  if (cursors_.size() >= kMostCursors && !cursors_.contains(task_id)) cursors_.clear();
  cursors_[task_id] = next;
}

}  // namespace sbx
