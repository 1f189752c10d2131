// SPDX-License-Identifier: Apache-2.0
// tool: params on stdin, the tool's own answer on stdout.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "flag_table.h"
#include "flags.h"
#include "loop.h"
#include "prepare.h"
#include "rpc/tool_runner.h"
#include "session_client.h"
#include "tool_policy.h"
#include "tools/json_text.h"
#include "verbs.h"

namespace sbx {
namespace {

constexpr std::string_view kCallId = "\"tool\"";
constexpr std::chrono::seconds kAfterSignal{5};  // the tree is killed at once: this never passes

int print_answer(const ToolAnswer& answer, const Invocation& invocation, int signal_fd) {
  if (answer.refusal) complain(*answer.refusal);
  const int written = invocation.process.stdout_was_closed
                          ? -1
                          : write_answer(STDOUT_FILENO, answer.text, signal_fd);
  if (written == 0) return answer.exit_status;
  if (written > 0) return 128 + written;
  complain(Error{ErrorCode::kOutputUnwritable, "the answer cannot be written to stdout", "stdout",
                 "give sbx-run a stdout that is open"});
  return 125;
}

// Tasks end with the process that holds them.
Status check_background(const ToolCall& call) {
  if (call.mode == ToolMode::kRun) return {};
  return Error{ErrorCode::kSessionFailed, "a background command needs a session that holds it",
               call.mode == ToolMode::kBackground ? "/run_in_background" : "",
               "sbx-run tool --session NAME " + call.tool};
}

// One call, to its end; `signal` is what ended it before.
ToolAnswer run_call(Dispatcher& dispatcher, ToolRunner& runner, const RunOptions& options,
                    std::string params, int signal_fd, int& signal) {
  std::optional<ToolAnswer> answer;
  ToolRunner::Call call;
  call.client = dispatcher.add_client({});
  call.id = kCallId;
  call.tool = options.name;
  call.params = std::move(params);
  const ClientId client = call.client;
  runner.run(std::move(call), [&](ToolAnswer done) { answer = std::move(done); });
  auto give_up = PollTurn::Clock::time_point::max();
  while (!answer && PollTurn::Clock::now() < give_up && !dispatcher.wants_shutdown()) {
    PollTurn loop;
    loop.read(dispatcher.poll_fd());
    if (signal == 0) loop.read(signal_fd);
    loop.until(dispatcher.deadline());
    loop.wait();
    if (signal == 0 && loop.is_ready(signal_fd)) {
      signal = read_signal(signal_fd);
      if (signal != 0) {
        runner.ended_by(signal);
        dispatcher.cancel(client, kCallId);
        give_up = PollTurn::Clock::now() + kAfterSignal;
      }
    }
    dispatcher.step();
  }
  if (answer) return std::move(*answer);
  return tool_refusal(options.name, Error{ErrorCode::kCancelled, "ended with its caller", "", ""});
}

Result<int> call_in_process(const RunOptions& options, const Invocation& invocation,
                            std::string params, int signal_fd) {
  SBX_TRY(SessionOptions session, prepare_tool(options, invocation, options.name));
  SBX_TRY(const ToolCall decoded,
          decode_tool_call(options.name, params, tool_settings(session.policy)));
  SBX_CHECK_OK(check_background(decoded));
  SBX_TRY(const OwnedFd owner, owner_descriptor(options.owner_pid));
  session.owner_pidfd = owner.get();
  const Policy policy = session.policy;
  Dispatcher dispatcher(std::move(session));
  ToolRunner runner(dispatcher, [&](std::string_view) -> Result<Policy> { return policy; });
  int signal = 0;
  const ToolAnswer answer =
      run_call(dispatcher, runner, options, std::move(params), signal_fd, signal);
  const int status = print_answer(answer, invocation, signal_fd);
  return signal == 0 ? status : 128 + signal;
}

// What a task that is streamed tells, as JSON lines, until it ends.
class Stream {
 public:
  explicit Stream(std::string task) : task_(std::move(task)) {}

  void take(const std::string& method, const std::string& params) {
    nlohmann::ordered_json event = nlohmann::ordered_json::parse(params, nullptr, false);
    if (!event.is_object() || !event.contains("task_id") || event["task_id"] != task_) return;
    if (method == "task.exit") has_ended_ = true;
    if (method != "task.match" && method != "task.output") return;
    nlohmann::ordered_json line = {{"event", method.substr(5)}};
    line.update(event);
    write_all(STDOUT_FILENO, json_text(line) + "\n");
  }
  bool has_ended() const { return has_ended_; }

 private:
  std::string task_;
  bool has_ended_ = false;
};

// The server decodes the params; errors point into them again.
Error own_error(Error error) {
  constexpr std::string_view kPrefix = "/params";
  if (error.where.starts_with(kPrefix)) error.where.erase(0, kPrefix.size());
  return error;
}

Result<int> call_in_session(const RunOptions& options, const Invocation& invocation) {
  SBX_TRY(const std::string text, read_params_text(options.params_file));
  SBX_TRY(const ToolCall decoded, decode_tool_call(options.name, text, {}));
  SBX_TRY(SessionFlags flags, session_flags(options, *invocation.verb));
  SBX_TRY(SessionClient client,
          SessionClient::open({options.session, true, false, std::move(flags), options.approve},
                              invocation));
  const nlohmann::ordered_json params = nlohmann::ordered_json::parse(text, nullptr, false);
  Stream stream(decoded.task_id);
  const auto notify = [&](const std::string& method, const std::string& event) {
    if (decoded.mode == ToolMode::kStream) stream.take(method, event);
  };
  const auto call = [&](const nlohmann::ordered_json& of_tool) {
    return client.call("tool", json_text({{"name", options.name}, {"params", of_tool}}), notify);
  };
  Result<std::string> result = call(params);
  if (!result.ok()) return own_error(result.error());
  if (decoded.mode == ToolMode::kStream) {
    while (!stream.has_ended()) SBX_CHECK_OK(client.next(notify));
    result = call({{"task_id", decoded.task_id}});
    if (!result.ok()) return own_error(result.error());
  }
  return print_answer(read_tool_result(result.value()), invocation, -1);
}

}  // namespace

int verb_tool(const Invocation& invocation) {
  RunOptions options;
  Result<ParseOutcome> parsed = parse_flags(invocation, options);
  if (parsed.ok() && parsed.value().help) {
    return write_all(STDOUT_FILENO, *parsed.value().help) ? 0 : 125;
  }
  const auto refuse = [&](const Error& error) {
    return print_answer(tool_refusal(options.name, error), invocation, -1);
  };
  if (!parsed.ok()) return refuse(parsed.error());
  if (!options.session.empty()) {
    const Result<int> status = call_in_session(options, invocation);
    return status.ok() ? status.value() : refuse(status.error());
  }
  Result<OwnedFd> signals = signal_descriptor(false);
  if (!signals.ok()) return refuse(signals.error());
  Result<std::string> params = read_params_text(options.params_file);
  if (!params.ok()) return refuse(params.error());
  Result<int> status =
      call_in_process(options, invocation, std::move(params).value(), signals.value().get());
  return status.ok() ? status.value() : refuse(status.error());
}

}  // namespace sbx
