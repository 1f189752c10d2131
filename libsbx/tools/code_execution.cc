// SPDX-License-Identifier: Apache-2.0
// code_execution: a command in a workspace that lasts; destructive ones come back as a request for
// a person's approval. JSON answers. Values only.
#include <array>
#include <nlohmann/json.hpp>

#include "policy/params.h"
#include "report/json_parts.h"
#include "tools/family.h"
#include "tools/params.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr auto kFields = std::to_array<FieldSpec>({
    {"command", "The command to run, in bash.", kText, true},
    {"timeout_ms",
     "Milliseconds until the command is killed (default: 120000).",
     {.kind = Kind::kCount, .min = 1, .max = kUnbounded}},
    {"description", "What the command does, in a few words.", kText},
    kApprovalField,
});

Result<ToolCall> decode(json& params, const ToolSettings&) {
  ToolCall call;
  SBX_TRY(call.request, decode_request(take_request(params, {{"timeout_ms", "timeout_ms"}})));
  return call;
}

void write(JsonWriter& out, const ToolCall&, const ToolResult& result) {
  const bool is_asked = status_of(result) == RunStatus::kNeedsApproval;
  if (is_asked) write_member(out, "type", "hitl_request");
  write_texts(out, result);
  write_exit_code(out, !is_asked, result);
  write_exceptions(out, result);
}

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"stdout":{"type":"string"},"stderr":{"type":"string"},"exit_code":{"type":["integer","null"]},
"type":{"type":"string","description":"hitl_request where a person must decide"},
)" SBX_EXCEPTIONS_SCHEMA R"(},"required":["stdout","stderr","exit_code"]})";

}  // namespace

const Tool kCodeExecutionTool = {
    .name = "code_execution",
    .title = "Code execution",
    .description =
        "Run a command in a hardened sandbox whose workspace lasts between calls; /tmp does not. "
        "Destructive commands wait for the user's approval.",
    .profile = "tool-code_execution",
    .shell = "bash",
    .fields = kFields,
    .shown = std::span(kFields).first(3),
    .renamed = {},
    .defaults = R"({"timeout_ms":120000})",
    .output_schema = kOutputSchema,
    .decode = decode,
    .write = write,
};

}  // namespace sbx
