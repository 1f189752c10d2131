// SPDX-License-Identifier: Apache-2.0
// Any bytes → the params of every tool, and what a command wrote. Every answer's structured part
// must be a JSON object, whether the call was refused, ran, or is a task's.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/tool.h"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void check_answer(const sbx::ToolAnswer& answer) {
  must(nlohmann::json::parse(answer.structured(), nullptr, false).is_object());
  must(answer.is_text || nlohmann::json::parse(answer.own_text(), nullptr, false).is_object());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  sbx::ToolSettings settings;
  settings.timeout_ms = 2000;
  for (const std::string_view tool : sbx::tool_names()) {
    const auto call = sbx::decode_tool_call(tool, text, settings);
    if (!call.ok()) {
      check_answer(sbx::tool_refusal(tool, call.error()));
      continue;
    }
    sbx::Outcome outcome;
    outcome.status = static_cast<sbx::RunStatus>(size % 10);
    outcome.out.text = text;
    sbx::ToolResult result;
    result.outcome = std::make_shared<const sbx::Outcome>(std::move(outcome));
    check_answer(sbx::tool_answer(call.value(), result));
    result.outcome = nullptr;
    result.output = sbx::TaskOutput::Text{text, text};
    check_answer(sbx::tool_answer(call.value(), std::move(result)));
  }
  return 0;
}
