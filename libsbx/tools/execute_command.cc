// SPDX-License-Identifier: Apache-2.0
// execute_command: sh -c, answered as text in three parts. Read mode is its profile; write mode is
// the profile `unconfined`, which the operator names. Values only.
#include <array>
#include <nlohmann/json.hpp>

#include "policy/params.h"
#include "tools/family.h"
#include "tools/params.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr auto kFields = std::to_array<FieldSpec>({
    {"command", "The shell command to execute", kText, true},
    {"timeout_ms",
     "Timeout in milliseconds (default: 30000)",
     {.kind = Kind::kCount, .min = 1, .max = kUnbounded}},
    kApprovalField,
});

Result<ToolCall> decode(json& params, const ToolSettings& settings) {
  ToolCall call;
  call.timeout_ms = count_param(params, "timeout_ms");
  if (!call.timeout_ms) call.timeout_ms = settings.timeout_ms;
  SBX_TRY(call.request, decode_request(take_request(params, {{"timeout_ms", "timeout_ms"}})));
  return call;
}

void write(JsonWriter& out, const ToolCall&, const ToolResult& result) {
  write_exit_code(out, true, result);
  write_texts(out, result);
  write_exceptions(out, result);
}

std::string text(const ToolCall& call, const ToolResult& result) {
  std::string text = "Exit code: " + std::to_string(exit_number(result)) + "\nstdout:\n";
  text += out_of(result);
  end_line(text);
  text += "stderr:\n";
  text += err_of(result);
  end_line(text);
  const RunStatus status = status_of(result);
  if (status == RunStatus::kTimedOut) {
    const auto ran_ms = static_cast<std::int64_t>(duration_ms_of(result));
    text += "execute_command: timed out after " + std::to_string(call.timeout_ms.value_or(ran_ms)) +
            " ms\n";
  } else if (!limit_of(result).empty()) {
    text += "execute_command: ended by the limit " + std::string(limit_of(result)) + "\n";
  } else if (status == RunStatus::kCancelled) {
    text += "execute_command: cancelled\n";
  }
  return text;
}

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"exit_code":{"type":"integer"},"stdout":{"type":"string"},"stderr":{"type":"string"},
)" SBX_EXCEPTIONS_SCHEMA R"(},
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
    .keeps_times = true,
    .decode = decode,
    .write = write,
    .text = text,
};

}  // namespace sbx
