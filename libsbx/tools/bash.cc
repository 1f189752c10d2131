// SPDX-License-Identifier: Apache-2.0
// bash, bash_output, kill_shell: text answers. One foreground command with a time in seconds, or a
// background shell that is polled and killed by its id. Values only.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "policy/params.h"
#include "report/json_parts.h"
#include "tools/family.h"
#include "tools/params.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostMs = 600'000;  // "Clamped to 600"

constexpr ValueSpec kFlag = {.kind = Kind::kBool};
constexpr ValueSpec kSeconds = {.kind = Kind::kNumber, .min = 0, .max = kUnbounded};

constexpr auto kBashFields = std::to_array<FieldSpec>({
    {"command", "The command to run, by bash -c, in the workspace.", kText, true},
    {"description", "What the command does, in 5 to 10 words. For the record only.", kText},
    {"timeout", "Seconds until the command is killed; at most 600. Not used in the background.",
     kSeconds},
    {"run_in_background", "true: answer at once with a shell_id; see bash_output and kill_shell.",
     kFlag},
    kApprovalField,
});

// A model is asked for a description; a call without one runs.
constexpr auto kBashShown = std::to_array<FieldSpec>({
    kBashFields[0],
    {"description", kBashFields[1].description, kText, true},
    kBashFields[2],
    kBashFields[3],
});

constexpr auto kShellIdFields = std::to_array<FieldSpec>({
    {"shell_id", "The shell_id that bash answered.", kText},
    {"task_id", "The same as shell_id.", kText},
});

constexpr auto kShellIdShown = std::to_array<FieldSpec>({
    {"shell_id", "The shell_id that bash answered.", kText, true},
});

constexpr auto kRenamed = std::to_array<Renamed>({{"/timeout_ms", "/timeout"}});
constexpr auto kRenamedId = std::to_array<Renamed>({{"/task_id", "/shell_id"}});

std::string seconds_text(std::int64_t ms) {
  std::string text = std::to_string(ms / 1000);
  if (ms % 1000 == 0) return text;
  text += '.' + std::to_string(1000 + ms % 1000).substr(1);
  while (text.back() == '0') text.pop_back();
  return text;
}

Result<ToolCall> decode_bash(json& params, const ToolSettings& settings) {
  SBX_TRY(auto timeout, seconds_param(params, "timeout"));
  json request = take_request(params);
  ToolCall call;
  if (flag_param(params, "run_in_background")) {
    call.mode = ToolMode::kBackground;
    request["stdin"] = "";  // a task's is open otherwise
  } else {
    request["merge"] = true;
    call.timeout_ms = settings.timeout_ms;
    if (timeout) {
      const std::int64_t most = std::min(kMostMs, settings.timeout_ceiling_ms.value_or(kMostMs));
      call.timeout_ms = std::min(*timeout, most);
      request["timeout_ms"] = *call.timeout_ms;
    }
  }
  SBX_TRY(call.request, decode_request(request));
  return call;
}

void write_bash(JsonWriter& out, const ToolCall& call, const ToolResult& result) {
  const bool is_started = call.mode == ToolMode::kBackground && !did_not_run(result);
  write_member(out, "output", out_of(result));
  write_member(out, "status", run_status_name(status_of(result)));
  write_exit_code(out, !is_started && !did_not_run(result), result);
  if (is_started) write_member(out, "shell_id", result.task_id);
}

// What stands under the output: why it ended, and with which number.
std::string ending(const ToolCall& call, const ToolResult& result) {
  std::string text;
  const RunStatus status = status_of(result);
  if (status == RunStatus::kTimedOut) {
    const auto ran_ms = static_cast<std::int64_t>(duration_ms_of(result));
    text = "bash: timed out after " + seconds_text(call.timeout_ms.value_or(ran_ms)) + "s\n";
  } else if (status == RunStatus::kLimit) {
    text = "bash: ended by the limit " + std::string(limit_of(result)) + "\n";
  } else if (status == RunStatus::kCancelled || status == RunStatus::kKilled) {
    text = "bash: " + std::string(run_status_name(status)) + "\n";
  }
  const int number = exit_number(result);
  if (number != 0) text += "exit: " + std::to_string(number) + "\n";
  return text;
}

std::string bash_text(const ToolCall& call, const ToolResult& result) {
  if (call.mode == ToolMode::kBackground) {
    return "shell_id: " + result.task_id + "\nstarted in background: " + call.request.command +
           "\n";
  }
  std::string text(out_of(result));
  const std::string end = ending(call, result);
  if (!end.empty()) end_line(text);
  return text + end;
}

Result<std::string> shell_id(const json& params) {
  const std::string id = text_param(params, "shell_id");
  const std::string alias = text_param(params, "task_id");
  if (id.empty() == alias.empty() && id != alias) {
    return Error{ErrorCode::kBadValue, "\"shell_id\" and \"task_id\" are two names for one thing",
                 "/task_id", "remove one of the two"};
  }
  if (!id.empty() || !alias.empty()) return id.empty() ? alias : id;
  return Error{ErrorCode::kMissingField, "the key \"shell_id\" is missing", "/shell_id",
               "the shell_id that bash answered"};
}

Result<ToolCall> decode_task(const json& params, ToolMode mode) {
  ToolCall call;
  call.mode = mode;
  SBX_TRY(call.task_id, shell_id(params));
  return call;
}
Result<ToolCall> decode_bash_output(json& params, const ToolSettings&) {
  return decode_task(params, ToolMode::kPoll);
}
Result<ToolCall> decode_kill_shell(json& params, const ToolSettings&) {
  return decode_task(params, ToolMode::kKill);
}

std::string state(const ToolResult& result) {
  if (result.outcome == nullptr) return "running";
  return result.outcome->exit_code ? "exited" : "killed";
}

void write_bash_output(JsonWriter& out, const ToolCall& call, const ToolResult& result) {
  write_member(out, "shell_id", call.task_id);
  if (did_not_run(result)) return write_member(out, "status", run_status_name(status_of(result)));
  write_member(out, "status", state(result));
  write_exit_code(out, result.outcome != nullptr, result);
  write_texts(out, result);
}

// A first line with the state, what is new, and how it ended.
std::string bash_output_text(const ToolCall&, const ToolResult& result) {
  std::string text = "status: " + state(result) + "\n";
  if (result.output && result.output->dropped != 0) {
    text += "[" + std::to_string(result.output->dropped) + " bytes dropped]\n";
  }
  text += out_of(result);
  end_line(text);
  text += err_of(result);
  end_line(text);
  if (result.outcome != nullptr) text += "exit: " + std::to_string(exit_number(result)) + "\n";
  return text;
}

void write_kill_shell(JsonWriter& out, const ToolCall& call, const ToolResult& result) {
  write_member(out, "shell_id", call.task_id);
  write_member(out, "status", did_not_run(result) ? run_status_name(status_of(result)) : "killed");
}
std::string kill_shell_text(const ToolCall& call, const ToolResult&) {
  return "killed: " + call.task_id + "\n";
}

constexpr std::string_view kBashOutputSchema = R"({"type":"object","properties":{
"output":{"type":"string","description":"stdout and stderr, in the order written"},
"status":{"type":"string","description":"exited, signaled, timed_out, limit, cancelled, killed, running, denied, needs_approval or error"},
"exit_code":{"type":["integer","null"]},"shell_id":{"type":"string"},
"error":{"type":"object"},"approval":{"type":"object"}},"required":["output","status","exit_code"]})";

constexpr std::string_view kPollSchema = R"({"type":"object","properties":{
"shell_id":{"type":"string"},
"status":{"type":"string","description":"running, exited, killed or error"},
"exit_code":{"type":["integer","null"]},
"stdout":{"type":"string","description":"what is new since the last poll"},
"stderr":{"type":"string","description":"what is new since the last poll"},
"dropped":{"type":"integer","description":"bytes before these that are no longer kept"},
"error":{"type":"object"}},"required":["shell_id","status"]})";

constexpr std::string_view kKillSchema = R"({"type":"object","properties":{
"shell_id":{"type":"string"},"status":{"type":"string"},
"error":{"type":"object"}},"required":["shell_id","status"]})";

}  // namespace

const Tool kBashTool = {
    .name = "bash",
    .title = "Bash",
    .description =
        "Run a command by bash -c in a sandbox, from the workspace root. Blocks until it ends or "
        "its time is up; with run_in_background it answers a shell_id at once and the command goes "
        "on until it ends or is killed. stdin is closed. A last line \"exit: N\" stands for every "
        "exit status but 0.",
    .profile = "tool-bash",
    .shell = "bash",
    .fields = kBashFields,
    .shown = kBashShown,
    .renamed = kRenamed,
    .defaults = R"({"timeout":120,"run_in_background":false})",
    .output_schema = kBashOutputSchema,
    .decode = decode_bash,
    .write = write_bash,
    .text = bash_text,
};

const Tool kBashOutputTool = {
    .name = "bash_output",
    .title = "Bash output",
    .description =
        "Poll a background shell of bash: its state, and what it wrote since the last "
        "poll.",
    .profile = "tool-bash",
    .shell = "bash",
    .fields = kShellIdFields,
    .shown = kShellIdShown,
    .renamed = kRenamedId,
    .defaults = "{}",
    .output_schema = kPollSchema,
    .reads_only = true,
    .decode = decode_bash_output,
    .write = write_bash_output,
    .text = bash_output_text,
};

const Tool kKillShellTool = {
    .name = "kill_shell",
    .title = "Kill shell",
    .description = "End a background shell of bash and everything that it started.",
    .profile = "tool-bash",
    .shell = "bash",
    .fields = kShellIdFields,
    .shown = kShellIdShown,
    .renamed = kRenamedId,
    .defaults = "{}",
    .output_schema = kKillSchema,
    .decode = decode_kill_shell,
    .write = write_kill_shell,
    .text = kill_shell_text,
};

}  // namespace sbx
