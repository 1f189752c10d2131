// SPDX-License-Identifier: Apache-2.0
// The tables → definitions in the forms of three interfaces. Pure.
#include <nlohmann/json.hpp>

#include "json/reader.h"
#include "json/schema.h"
#include "tools/family.h"
#include "tools/json_text.h"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Bounds that are the operator's to set are not printed; times in seconds are more than 0.
void soften(ordered_json& schema) {
  for (auto& member : schema) {
    if (member.is_structured()) soften(member);
  }
  if (!schema.is_object() || !schema.contains("maximum")) return;
  if (schema["maximum"] == kUnbounded) {
    schema.erase("maximum");
    if (schema["type"] == "number") {
      schema["exclusiveMinimum"] = schema["minimum"];
      schema.erase("minimum");
    }
  }
}

ordered_json input_schema(const Tool& tool) {
  const json defaults = parse_json(tool.defaults);
  ordered_json schema = object_schema(ObjectSpec{tool.shown}, defaults);
  soften(schema);
  return schema;
}

ordered_json mcp_definition(const Tool& tool) {
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", input_schema(tool)},
          {"outputSchema", parse_ordered_json(tool.output_schema)},
          {"annotations",
           {{"title", tool.title},
            {"readOnlyHint", tool.reads_only},
            {"destructiveHint", !tool.reads_only},
            {"openWorldHint", false}}}};
}

}  // namespace

Result<std::string> tool_definition(std::string_view name, ToolFormat format) {
  const Tool* tool = find_tool(name);
  if (tool == nullptr) return decode_tool_call(name, "{}", {}).error();
  switch (format) {
    case ToolFormat::kAnthropic:
      return json_text({{"name", tool->name},
                        {"description", tool->description},
                        {"input_schema", input_schema(*tool)}});
    case ToolFormat::kOpenai:
      return json_text({{"type", "function"},
                        {"function",
                         {{"name", tool->name},
                          {"description", tool->description},
                          {"parameters", input_schema(*tool)}}}});
    case ToolFormat::kMcp:
      break;
  }
  return json_text(mcp_definition(*tool));
}

}  // namespace sbx
