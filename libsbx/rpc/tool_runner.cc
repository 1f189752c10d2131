// SPDX-License-Identifier: Apache-2.0
// The chain of method calls behind one tool call.
#include "rpc/tool_runner.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tools/json_text.h"

namespace sbx {

using nlohmann::ordered_json;

struct ToolRunner::Running {
  Call call;
  Done done;
  ToolCall decoded;
  std::shared_ptr<const Policy> policy;
  std::size_t at = 0;  // of decoded.calls
};

Result<ToolRunner::Kept> ToolRunner::policy_of(std::string_view tool) {
  const auto found = policies_.find(tool);
  if (found != policies_.end()) return found->second;
  SBX_TRY(Policy policy, find_policy_(tool));
  Kept kept;
  kept.settings = tool_settings(policy);
  kept.policy = std::make_shared<const Policy>(std::move(policy));
  return policies_.emplace(tool, std::move(kept)).first->second;
}

void ToolRunner::run(Call call, Done done) {
  if (tool_profile(call.tool).empty()) {
    return done(tool_refusal(call.tool, decode_tool_call(call.tool, "{}", {}).error()));
  }
  Result<Kept> kept = policy_of(call.tool);
  if (!kept.ok()) return done(tool_refusal(call.tool, kept.error()));
  Result<ToolCall> decoded = decode_tool_call(call.tool, call.params, kept.value().settings);
  if (!decoded.ok()) return done(tool_refusal(call.tool, decoded.error()));
  auto running = std::make_shared<Running>();
  running->call = std::move(call);
  running->done = std::move(done);
  running->decoded = std::move(decoded).value();
  running->policy = kept.value().policy;
  if (running->decoded.mode == ToolMode::kStream && running->call.waits_for_end) {
    auto& calls = running->decoded.calls;
    calls.insert(calls.end() - 1, MethodCall{"wait", calls.back().params, false, ""});
  }
  next(running);
}

void ToolRunner::next(const std::shared_ptr<Running>& running) {
  const MethodCall& call = running->decoded.calls[running->at];
  std::string params = call.params;
  const bool streams = call.method == "run" && running->call.is_streamed;
  if (call.from_cursor || streams) {
    ordered_json with = ordered_json::parse(params);
    const auto cursor = cursors_.find(call.task_id);
    if (cursor != cursors_.end()) with["since"] = cursor->second;
    if (streams) with["stream"] = true;
    params = with.dump();
  }
  dispatcher_.call(
      running->call.client, running->call.id, call.method, params,
      [this, running](Result<std::string> result) { take(running, std::move(result)); },
      running->policy.get());
}

void ToolRunner::take(const std::shared_ptr<Running>& running, Result<std::string> result) {
  const MethodCall& call = running->decoded.calls[running->at];
  if (call.from_cursor && result.ok()) move_cursor(call, result.value());
  ++running->at;
  if (result.ok() && running->at < running->decoded.calls.size()) return next(running);
  running->done(tool_answer(running->decoded, result, ended_by_));
}

void ToolRunner::move_cursor(const MethodCall& call, const std::string& output) {
  const ordered_json body = ordered_json::parse(output, nullptr, false);
  if (!body.is_object() || !body.contains("next")) return;
  // Tasks are forgotten long before so many have been polled.
  if (cursors_.size() >= kMostCursors && !cursors_.contains(call.task_id)) cursors_.clear();
  cursors_[call.task_id] = body["next"].get<std::uint64_t>();
}

Dispatcher::ToolHandler ToolRunner::handler() {
  return [this](ClientId client, std::string_view id, std::string_view name,
                std::string_view params, const Dispatcher::Reply& reply) {
    Call call;
    call.client = client;
    call.id = id;
    call.tool = name;
    call.params = params;
    run(std::move(call), [reply, tool = std::string(name)](const ToolAnswer& answer) {
      if (answer.mistake) {
        Error error = *answer.mistake;
        if (error.code != ErrorCode::kUnknownMethod) error.where = "/params" + error.where;
        return reply(std::move(error));
      }
      reply(tool_result_json(tool, answer));
    });
  };
}

std::string tool_result_json(std::string_view tool, const ToolAnswer& answer) {
  ordered_json body = ordered_json::parse(answer.structured);
  if (answer.is_text) body["text"] = answer.text;
  body["tool"] = {
      {"name", tool}, {"is_error", answer.is_error}, {"exit_status", answer.exit_status}};
  return json_text(body);
}

ToolAnswer read_tool_result(std::string_view json) {
  ToolAnswer answer;
  ordered_json body = ordered_json::parse(json, nullptr, false);
  if (!body.is_object() || !body.contains("tool")) {
    return tool_refusal("", Error{ErrorCode::kBadMessage, "the server's answer is no tool's", "",
                                  "use the same version of sbx-run on both sides"});
  }
  answer.is_error = body["tool"].value("is_error", false);
  answer.exit_status = body["tool"].value("exit_status", 0);
  answer.is_text = body.contains("text");
  if (answer.exit_status != 0) answer.refusal = tool_error(json);
  body.erase("tool");
  answer.text = answer.is_text ? body["text"].get<std::string>() : json_text(body) + "\n";
  return answer;
}

}  // namespace sbx
