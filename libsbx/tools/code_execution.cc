// SPDX-License-Identifier: Apache-2.0
// code_execution: a command in a workspace that lasts; destructive ones come back as a request for
// a person's approval. JSON answers. Values only.
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
    {"command", "The command to run, in bash.", kText, true},
    {"timeout_ms",
     "Milliseconds until the command is killed (default: 120000).",
     {.kind = Kind::kCount, .min = 1, .max = kUnbounded}},
    {"description", "What the command does, in a few words.", kText},
    {"approval", "The digest of an approval that was granted.", kText},
});

Result<ToolCall> decode(const json& params, const ToolSettings&) {
  ordered_json request = run_params(params);
  if (const auto ms = count_param(params, "timeout_ms")) request["timeout_ms"] = *ms;
  return one_call("run", request);
}

ordered_json finished(const ToolCall&, const Reply& reply) {
  ordered_json out = ordered_json::object();
  if (reply.status == "needs_approval") {
    out["type"] = "hitl_request";
    out["approval"] = parse_json(reply.approval);
  }
  out["stdout"] = reply.out;
  out["stderr"] = reply.err;
  out["exit_code"] =
      reply.status == "needs_approval" ? ordered_json(nullptr) : ordered_json(exit_number(reply));
  add_exceptions(out, reply);
  return out;
}

ToolAnswer answer(const ToolCall& call, const Reply& reply) {
  ToolAnswer answer;
  answer.structured = json_text(finished(call, reply));
  return answer;
}

constexpr std::string_view kOutputSchema = R"({"type":"object","properties":{
"stdout":{"type":"string"},"stderr":{"type":"string"},"exit_code":{"type":["integer","null"]},
"type":{"type":"string","description":"hitl_request where a person must decide"},
"approval":{"type":"object","description":"the digest and the rules that ask"},
"timed_out":{"type":"boolean"},"limit":{"type":"string"},"degraded":{"type":"array"},
"error":{"type":"object"}},"required":["stdout","stderr","exit_code"]})";

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
    .answer = answer,
    .nothing = finished,
};

}  // namespace sbx
