// SPDX-License-Identifier: Apache-2.0
// shell: one tool, modes picked by its params: a foreground command, a background one, and the
// status, kill, stdin, wait and stream of a task. JSON answers. Values only.
#include <array>
#include <nlohmann/json.hpp>

#include "tools/family.h"
#include "tools/params.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kGraceMs = 2000;  // "escalates to SIGKILL after 2 s"

constexpr ValueSpec kText = {.kind = Kind::kText};
constexpr ValueSpec kFlag = {.kind = Kind::kBool};
constexpr ValueSpec kSeconds = {.kind = Kind::kNumber, .min = 1, .max = 1800};

constexpr auto kFields = std::to_array<FieldSpec>({
    {"command", "Shell command. Use && to chain, ; for independent commands.", kText},
    {"description", "Short label, such as \"Running tests\".", kText},
    {"run_in_background", "true: answer at once with a task_id instead of waiting.", kFlag},
    {"task_id", "A background task from before.", kText},
    {"kill", "true: end the task.", kFlag},
    {"stdin_text", "Sent to the task's stdin, with a newline behind it.", kText},
    {"wait", "true: answer when the task has ended.", kFlag},
    {"stream", "true: push its lines as notifications.", kFlag},
    {"stream_pattern", "A regular expression; only lines that match are pushed.", kText},
    {"timeout", "Seconds until the command is killed, 1 to 1800.", kSeconds},
    {"cwd", "Working directory, relative to the workspace.", kText},
    {"approval", "The digest of an approval that was granted.", kText},
});

constexpr auto kShown = std::to_array<FieldSpec>({
    {"command", kFields[0].description, kText, true},
    kFields[1],
    kFields[2],
});

constexpr auto kRenamed = std::to_array<Renamed>(
    {{"/timeout_ms", "/timeout"}, {"/match", "/stream_pattern"}, {"/text", "/stdin_text"}});

Error conflict(const std::string& key, const std::string& why, const std::string& hint) {
  return Error{ErrorCode::kBadValue, "\"" + key + "\" " + why, "/" + key, hint};
}

Result<ToolCall> decode_command(const json& params, const ToolSettings& settings) {
  for (const char* key : {"kill", "wait", "stream"}) {
    if (flag_param(params, key)) return conflict(key, "needs a task", "give \"task_id\"");
  }
  for (const char* key : {"stdin_text", "stream_pattern"}) {
    if (params.contains(key)) return conflict(key, "needs a task", "give \"task_id\"");
  }
  if (text_param(params, "command").empty()) {
    return Error{ErrorCode::kMissingField, "there is no command to run", "/command",
                 "give \"command\", or \"task_id\" of a background task"};
  }
  ordered_json request = run_params(params);
  if (params.contains("cwd")) request["cwd"] = text_param(params, "cwd");
  SBX_TRY(const auto timeout, seconds_param(params, "timeout"));
  if (flag_param(params, "run_in_background")) {
    // A background task goes on until it ends, unless a time is asked for.
    if (timeout) request["timeout_ms"] = *timeout;
    ToolCall call = one_call("start", request);
    call.mode = ToolMode::kBackground;
    return call;
  }
  if (timeout) request["timeout_ms"] = *timeout;
  ToolCall call = one_call("run", request);
  call.timeout_ms = timeout ? timeout : settings.timeout_ms;
  return call;
}

Result<ToolCall> decode_task(const json& params) {
  const std::string id = text_param(params, "task_id");
  const bool kill = flag_param(params, "kill");
  const bool wait = flag_param(params, "wait");
  const bool stream = flag_param(params, "stream");
  const bool writes = params.contains("stdin_text");
  if (kill + wait + stream + writes > 1) {
    return conflict("task_id", "takes one of kill, stdin_text, wait and stream at a time",
                    "call once for each");
  }
  if (params.contains("stream_pattern") && !stream) {
    return conflict("stream_pattern", "needs \"stream\"", "give \"stream\": true");
  }
  ToolCall call;
  call.task_id = id;
  call.mode = ToolMode::kStatus;
  ordered_json of_task = {{"task_id", id}};
  if (kill) {
    call.mode = ToolMode::kKill;
    of_task["grace_ms"] = kGraceMs;
    call.calls.push_back(MethodCall{"kill", json_text(of_task), false, id});
    return call;  // its answer is a status, when all has ended
  } else if (writes) {
    call.mode = ToolMode::kStdin;
    of_task["text"] = text_param(params, "stdin_text") + "\n";
    call.calls.push_back(MethodCall{"stdin", json_text(of_task), false, id});
  } else if (wait) {
    call.mode = ToolMode::kWait;
    SBX_TRY(const auto timeout, seconds_param(params, "timeout"));
    if (timeout) of_task["timeout_ms"] = *timeout;
    call.calls.push_back(MethodCall{"wait", json_text(of_task), false, id});
    return call;  // its answer is a status
  } else if (stream) {
    call.mode = ToolMode::kStream;
    call.match = text_param(params, "stream_pattern");
    of_task["follow"] = true;
    if (!call.match.empty()) of_task["match"] = call.match;
    call.calls.push_back(MethodCall{"output", json_text(of_task), false, id});
  }
  call.calls.push_back(task_call("status", id));
  return call;
}

Result<ToolCall> decode(const json& params, const ToolSettings& settings) {
  if (!params.contains("task_id")) return decode_command(params, settings);
  if (params.contains("command")) {
    return conflict("command", "and \"task_id\" exclude each other", "remove one of the two");
  }
  return decode_task(params);
}

double seconds(double ms) { return static_cast<double>(static_cast<std::int64_t>(ms)) / 1000; }

ordered_json finished(const ToolCall& call, const Reply& reply) {
  ordered_json out = {{"stdout", reply.out},
                      {"stderr", reply.err},
                      {"exit_code", exit_number(reply)},
                      {"duration", seconds(reply.duration_ms)},
                      {"cwd", reply.cwd},
                      {"command", call.command}};
  add_exceptions(out, reply);
  return out;
}

ToolAnswer answer(const ToolCall& call, const Reply& reply) {
  ToolAnswer answer;
  const ordered_json body = parse_json(reply.body);
  ordered_json out;
  const auto take = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys) out[key] = body.contains(key) ? body[key] : ordered_json(nullptr);
  };
  if (call.mode == ToolMode::kRun) {
    out = finished(call, reply);
  } else if (call.mode == ToolMode::kBackground) {
    take({"task_id", "pid", "started_at"});
  } else {
    take({"stdout", "stderr", "exit_code", "uptime_seconds", "is_running"});
    if (!reply.is_running) out["exit_code"] = exit_number(reply);
  }
  answer.structured = json_text(out);
  return answer;
}

ordered_json nothing(const ToolCall& call, const Reply& reply) {
  if (call.task_id.empty()) return finished(call, reply);
  return {{"task_id", call.task_id}};
}

// Which members are there depends on the mode.
constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"stdout":{"type":"string"},"stderr":{"type":"string"},
"exit_code":{"type":["integer","null"],"description":"null while running"},
"duration":{"type":"number","description":"seconds"},
"cwd":{"type":"string"},"command":{"type":"string"},
"task_id":{"type":"string"},"pid":{"type":["integer","null"]},"started_at":{"type":["string","null"]},
"uptime_seconds":{"type":["number","null"]},"is_running":{"type":["boolean","null"]},
"timed_out":{"type":"boolean"},"limit":{"type":"string"},"degraded":{"type":"array"},
"error":{"type":"object"},"approval":{"type":"object"}}})";

}  // namespace

const Tool kShellTool = {
    .name = "shell",
    .title = "Shell",
    .description =
        "Run a shell command in a sandbox and answer its stdout, stderr, exit_code, duration, cwd "
        "and command. With run_in_background it answers task_id, pid and started_at at once.",
    .profile = "tool-shell",
    .shell = "",
    .fields = kFields,
    .shown = kShown,
    .renamed = kRenamed,
    .defaults = R"({"description":"","run_in_background":false})",
    .output_schema = kOutputSchema,
    .decode = decode,
    .answer = answer,
    .nothing = nothing,
};

}  // namespace sbx
