// SPDX-License-Identifier: Apache-2.0
// Any bytes → the params of every tool, and a method's result. What is accepted must give method
// calls whose params are JSON objects; every answer's structured part must be a JSON object.
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
  must(nlohmann::json::parse(answer.structured, nullptr, false).is_object());
  must(!answer.is_text || nlohmann::json(answer.text).dump().size() > 1);
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
    must(!call.value().calls.empty());
    for (const sbx::MethodCall& one : call.value().calls) {
      must(nlohmann::json::parse(one.params, nullptr, false).is_object());
    }
    check_answer(sbx::tool_answer(call.value(), text));  // the same bytes as a result
  }
  return 0;
}
