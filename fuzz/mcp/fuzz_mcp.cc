// SPDX-License-Identifier: Apache-2.0
// Any bytes → a message of the Model Context Protocol, and what it says of itself. Whatever comes
// of it prints as JSON on one line.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "rpc/mcp_message.h"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void must_be_a_line(const std::string& text) {
  must(text.find('\n') == std::string::npos);
  must(sbx::McpJson::parse(text, nullptr, false).is_object());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = sbx::read_mcp_message(text);
  if (const auto* refusal = std::get_if<sbx::McpRefusal>(&read)) {
    must_be_a_line(sbx::mcp_error(*refusal));
    return 0;
  }
  const auto& message = std::get<sbx::McpMessage>(read);
  const sbx::McpJson params = sbx::McpJson::parse(message.params);
  must(params.is_object());
  for (const bool is_open : {false, true}) {
    const auto context = sbx::read_mcp_context(message.id, params, is_open, true);
    if (const auto* refusal = std::get_if<sbx::McpRefusal>(&context)) {
      must_be_a_line(sbx::mcp_error(*refusal));
    }
  }
  must_be_a_line(sbx::mcp_result(message.id, {{"echo", params}}, true, "1"));
  return 0;
}
