// SPDX-License-Identifier: Apache-2.0
// execute_command: sh -c, answered as text in three parts. Read mode is its profile; write mode is
// the profile `unconfined`, which the operator names. Values only.
#include <array>
#include <nlohmann/json.hpp>

#include "tools/family.h"
#include "tools/params.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr ValueSpec kText = {.kind = Kind::kText};

constexpr auto kFields = std::to_array<FieldSpec>({
    {"command", "The shell command to execute", kText, true},
    {"timeout_ms",
     "Timeout in milliseconds (default: 30000)",
     {.kind = Kind::kCount, .min = 1, .max = kUnbounded}},
    {"approval", "The digest of an approval that was granted.", kText},
});

Result<ToolCall> decode(const json& params, const ToolSettings& settings) {
  ordered_json request = run_params(params);
  ToolCall call;
  call.timeout_ms = count_param(params, "timeout_ms");
  if (call.timeout_ms) {
    request["timeout_ms"] = *call.timeout_ms;
  } else {
    call.timeout_ms = settings.timeout_ms;
  }
  call.calls = one_call("run", request).calls;
  return call;
}

ordered_json outcome(const ToolCall&, const Reply& reply) {
  return {{"exit_code", exit_number(reply)}, {"stdout", reply.out}, {"stderr", reply.err}};
}

ToolAnswer answer(const ToolCall& call, const Reply& reply) {
  ToolAnswer answer;
  std::string& text = answer.text;
  text = "Exit code: " + std::to_string(exit_number(reply)) + "\nstdout:\n" + reply.out;
  end_line(text);
  text += "stderr:\n" + reply.err;
  end_line(text);
  if (reply.status == "timed_out") {
    text += "execute_command: timed out after " +
            std::to_string(call.timeout_ms.value_or(static_cast<std::int64_t>(reply.duration_ms))) +
            " ms\n";
  } else if (!reply.limit.empty()) {
    text += "execute_command: ended by the limit " + reply.limit + "\n";
  } else if (reply.status == "cancelled") {
    text += "execute_command: cancelled\n";
  }
  answer.structured = json_text(outcome(call, reply));
  return answer;
}

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"exit_code":{"type":"integer"},"stdout":{"type":"string"},"stderr":{"type":"string"},
"error":{"type":"object"},"approval":{"type":"object"}},
"required":["exit_code","stdout","stderr"]})";

}  // namespace

const Tool kExecuteCommandTool = {
    .name = "execute_command",
    .title = "Execute command",
    .description = "Execute a shell command and return its output.",
    .profile = "tool-execute_command",
    .shell = "sh",
    .fields = kFields,
    .shown = std::span(kFields).first(2),
    .renamed = {},
    .defaults = R"({"timeout_ms":30000})",
    .output_schema = kOutputSchema,
    .answers_text = true,
    .decode = decode,
    .answer = answer,
    .nothing = outcome,
};

}  // namespace sbx
