// SPDX-License-Identifier: Apache-2.0
// shell: one tool, modes picked by its params: a foreground command, a background one, and the
// status, kill, stdin, wait and stream of a task. JSON answers. Values only.
#include <array>
#include <nlohmann/json.hpp>

#include "policy/params.h"
#include "report/json_parts.h"
#include "tools/family.h"
#include "tools/params.h"

namespace sbx {
namespace {

using nlohmann::json;

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
    kApprovalField,
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

Result<ToolCall> decode_command(json& params, const ToolSettings& settings) {
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
  SBX_TRY(const auto timeout, seconds_param(params, "timeout"));
  json request = take_request(params, {{"cwd", "cwd"}});
  // A background task goes on until it ends, unless a time is asked for.
  if (timeout) request["timeout_ms"] = *timeout;
  ToolCall call;
  if (flag_param(params, "run_in_background")) {
    call.mode = ToolMode::kBackground;
  } else {
    call.timeout_ms = timeout ? timeout : settings.timeout_ms;
  }
  SBX_TRY(call.request, decode_request(request));
  return call;
}

Result<ToolCall> decode_task(const json& params) {
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
  call.task_id = text_param(params, "task_id");
  call.mode = ToolMode::kStatus;
  if (kill) call.mode = ToolMode::kKill;
  if (writes) {
    call.mode = ToolMode::kStdin;
    call.text = text_param(params, "stdin_text") + "\n";
  }
  if (wait) {
    call.mode = ToolMode::kWait;
    SBX_TRY(call.timeout_ms, seconds_param(params, "timeout"));
  }
  if (stream) {
    call.mode = ToolMode::kStream;
    call.match = text_param(params, "stream_pattern");
  }
  return call;
}

Result<ToolCall> decode(json& params, const ToolSettings& settings) {
  if (!params.contains("task_id")) return decode_command(params, settings);
  if (params.contains("command")) {
    return conflict("command", "and \"task_id\" exclude each other", "remove one of the two");
  }
  return decode_task(params);
}

void write_command(JsonWriter& out, const ToolCall& call, const ToolResult& result) {
  write_texts(out, result);
  write_exit_code(out, true, result);
  out.key("duration");
  out.thousandths(static_cast<std::int64_t>(duration_ms_of(result)));
  const Outcome* const ran = result.outcome.get();
  write_member(out, "cwd", ran == nullptr ? std::string_view() : ran->cwd);
  write_member(out, "command", ran == nullptr ? call.request.command : ran->command);
  write_exceptions(out, result);
}

void write_started(JsonWriter& out, const ToolResult& result) {
  write_member(out, "task_id", result.task_id);
  out.key("pid");
  out.integer(result.pid);
  write_member(out, "started_at", utc_time(result.started_at_ms));
}

void write_task(JsonWriter& out, const ToolResult& result) {
  write_texts(out, result);
  write_exit_code(out, result.outcome != nullptr, result);
  out.key("uptime_seconds");
  out.thousandths(result.uptime_ms);
  out.key("is_running");
  out.boolean(result.outcome == nullptr);
}

void write(JsonWriter& out, const ToolCall& call, const ToolResult& result) {
  const bool is_done = !did_not_run(result);
  if (!call.task_id.empty()) {
    is_done ? write_task(out, result) : write_member(out, "task_id", call.task_id);
  } else if (is_done && call.mode == ToolMode::kBackground) {
    write_started(out, result);
  } else {
    write_command(out, call, result);
  }
}

// Which members are there depends on the mode.
constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"stdout":{"type":"string"},"stderr":{"type":"string"},
"dropped":{"type":"integer","description":"bytes before these that are no longer kept"},
"exit_code":{"type":["integer","null"],"description":"null while running"},
"duration":{"type":"number","description":"seconds"},
"cwd":{"type":"string"},"command":{"type":"string"},
"task_id":{"type":"string"},"pid":{"type":["integer","null"]},"started_at":{"type":["string","null"]},
"uptime_seconds":{"type":["number","null"]},"is_running":{"type":["boolean","null"]},
)" SBX_EXCEPTIONS_SCHEMA "}}";

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
    .write = write,
};

}  // namespace sbx
