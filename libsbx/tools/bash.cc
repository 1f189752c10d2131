// SPDX-License-Identifier: Apache-2.0
// bash, bash_output, kill_shell: text answers. One foreground command with a time in seconds, or a
// background shell that is polled and killed by its id. Values only.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tools/family.h"
#include "tools/params.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::int64_t kMostMs = 600'000;  // "Clamped to 600"

constexpr ValueSpec kText = {.kind = Kind::kText};
constexpr ValueSpec kFlag = {.kind = Kind::kBool};
constexpr ValueSpec kSeconds = {.kind = Kind::kNumber, .min = 0, .max = kUnbounded};

constexpr auto kBashFields = std::to_array<FieldSpec>({
    {"command", "The command to run, by bash -c, in the workspace.", kText, true},
    {"description", "What the command does, in 5 to 10 words. For the record only.", kText},
    {"timeout", "Seconds until the command is killed; at most 600. Not used in the background.",
     kSeconds},
    {"run_in_background", "true: answer at once with a shell_id; see bash_output and kill_shell.",
     kFlag},
    {"approval", "The digest of an approval that was granted.", kText},
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

Result<ToolCall> decode_background(const json& params) {
  ordered_json request = run_params(params);
  ToolCall call = one_call("start", request);
  call.mode = ToolMode::kBackground;
  return call;
}

Result<ToolCall> decode_bash(const json& params, const ToolSettings& settings) {
  SBX_TRY(auto timeout, seconds_param(params, "timeout"));
  if (flag_param(params, "run_in_background")) return decode_background(params);
  ordered_json request = run_params(params);
  request["merge"] = true;
  std::optional<std::int64_t> in_force = settings.timeout_ms;
  if (timeout) {
    const std::int64_t most = std::min(kMostMs, settings.timeout_ceiling_ms.value_or(kMostMs));
    in_force = std::min(*timeout, most);
    request["timeout_ms"] = *in_force;
  }
  ToolCall call = one_call("run", request);
  call.timeout_ms = in_force;
  return call;
}

ordered_json outcome(const ToolCall&, const Reply& reply) {
  ordered_json out = {{"output", reply.out}, {"status", reply.status}, {"exit_code", nullptr}};
  if (!did_not_run(reply)) out["exit_code"] = exit_number(reply);
  return out;
}

ordered_json no_shell(const ToolCall& call, const Reply& reply) {
  return {{"shell_id", call.task_id}, {"status", reply.status}};
}

// What stands under the output: why it ended, and with which number.
std::string ending(const ToolCall& call, const Reply& reply) {
  std::string text;
  if (reply.status == "timed_out") {
    const std::int64_t ms = call.timeout_ms.value_or(static_cast<std::int64_t>(reply.duration_ms));
    text = "bash: timed out after " + seconds_text(ms) + "s\n";
  } else if (reply.status == "limit") {
    text = "bash: ended by the limit " + reply.limit + "\n";
  } else if (reply.status == "cancelled" || reply.status == "killed") {
    text = "bash: " + reply.status + "\n";
  }
  const int number = exit_number(reply);
  if (number != 0) text += "exit: " + std::to_string(number) + "\n";
  return text;
}

ToolAnswer answer_bash(const ToolCall& call, const Reply& reply) {
  ToolAnswer answer;
  if (call.mode == ToolMode::kBackground) {
    const ordered_json started = parse_json(reply.body);
    const std::string id = started.value("task_id", "");
    answer.text = "shell_id: " + id + "\nstarted in background: " + call.command + "\n";
    answer.structured = json_text(
        {{"output", ""}, {"status", "running"}, {"exit_code", nullptr}, {"shell_id", id}});
    return answer;
  }
  answer.text = reply.out;
  const std::string end = ending(call, reply);
  if (!end.empty()) end_line(answer.text);
  answer.text += end;
  answer.structured = json_text(outcome(call, reply));
  return answer;
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

Result<ToolCall> decode_bash_output(const json& params, const ToolSettings&) {
  SBX_TRY(const std::string id, shell_id(params));
  ToolCall call;
  call.mode = ToolMode::kStatus;
  call.task_id = id;
  call.calls.push_back(MethodCall{"output", json_text({{"task_id", id}}), true, id});
  return call;
}

Result<ToolCall> decode_kill_shell(const json& params, const ToolSettings&) {
  SBX_TRY(const std::string id, shell_id(params));
  ToolCall call;
  call.mode = ToolMode::kKill;
  call.task_id = id;
  call.calls.push_back(task_call("kill", id));
  return call;
}

// A first line with the state, what is new, and how it ended.
ToolAnswer answer_bash_output(const ToolCall& call, const Reply& reply) {
  std::string output = reply.out;
  if (!reply.err.empty()) {
    end_line(output);
    output += reply.err;
  }
  const std::string state = reply.is_running ? "running" : reply.exit_code ? "exited" : "killed";
  ToolAnswer answer;
  answer.text = "status: " + state + "\n";
  const ordered_json body = parse_json(reply.body);
  const auto dropped = body.find("dropped");
  if (dropped != body.end() && dropped->is_number_unsigned() && *dropped != 0) {
    answer.text += "[" + dropped->dump() + " bytes dropped]\n";
  }
  answer.text += output;
  end_line(answer.text);
  if (!reply.is_running) answer.text += "exit: " + std::to_string(exit_number(reply)) + "\n";
  ordered_json out = {{"shell_id", call.task_id},
                      {"status", state},
                      {"exit_code", nullptr},
                      {"stdout", reply.out},
                      {"stderr", reply.err}};
  if (!reply.is_running) out["exit_code"] = exit_number(reply);
  answer.structured = json_text(out);
  return answer;
}

ToolAnswer answer_kill_shell(const ToolCall& call, const Reply&) {
  ToolAnswer answer;
  answer.text = "killed: " + call.task_id + "\n";
  answer.structured = json_text({{"shell_id", call.task_id}, {"status", "killed"}});
  return answer;
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
    .answers_text = true,
    .decode = decode_bash,
    .answer = answer_bash,
    .nothing = outcome,
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
    .answers_text = true,
    .reads_only = true,
    .decode = decode_bash_output,
    .answer = answer_bash_output,
    .nothing = no_shell,
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
    .answers_text = true,
    .decode = decode_kill_shell,
    .answer = answer_kill_shell,
    .nothing = no_shell,
};

}  // namespace sbx
