// SPDX-License-Identifier: Apache-2.0
// Definitions against the published shape of each format.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tools/tool.h"

namespace sbx {
namespace {

using nlohmann::json;

json definition(std::string_view tool, ToolFormat format) {
  const Result<std::string> text = tool_definition(tool, format);
  EXPECT_TRUE(text.ok());
  return text.ok() ? json::parse(text.value()) : json();
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> out;
  for (const auto& [key, value] : object.items()) out.insert(key);
  return out;
}

void expect_object_schema(const json& schema) {
  EXPECT_EQ(schema.at("type"), "object");
  ASSERT_TRUE(schema.at("properties").is_object());
  for (const auto& [name, property] : schema.at("properties").items()) {
    EXPECT_TRUE(property.at("description").is_string()) << name;
    EXPECT_TRUE(property.contains("type")) << name;
  }
  for (const json& name : schema.value("required", json::array())) {
    EXPECT_TRUE(schema.at("properties").contains(name)) << name;
  }
}

// Tool: name (^[a-zA-Z0-9_-]{1,64}$), description, input_schema of type object; nothing else.
TEST(AnthropicDefinition, HasThePublishedShape) {
  for (const std::string_view tool : tool_names()) {
    const json out = definition(tool, ToolFormat::kAnthropic);
    EXPECT_EQ(keys(out), (std::set<std::string>{"name", "description", "input_schema"}));
    EXPECT_TRUE(
        std::regex_match(out.at("name").get<std::string>(), std::regex("[a-zA-Z0-9_-]{1,64}")));
    expect_object_schema(out.at("input_schema"));
  }
}

// {"type": "function", "function": {name, description, parameters}}.
TEST(OpenaiDefinition, HasThePublishedShape) {
  for (const std::string_view tool : tool_names()) {
    const json out = definition(tool, ToolFormat::kOpenai);
    EXPECT_EQ(keys(out), (std::set<std::string>{"type", "function"}));
    EXPECT_EQ(out.at("type"), "function");
    const json& function = out.at("function");
    EXPECT_EQ(keys(function), (std::set<std::string>{"name", "description", "parameters"}));
    EXPECT_TRUE(std::regex_match(function.at("name").get<std::string>(),
                                 std::regex("[a-zA-Z0-9_-]{1,64}")));
    EXPECT_LE(function.at("description").get<std::string>().size(), 1024U);
    expect_object_schema(function.at("parameters"));
  }
}

// Tool of revision 2026-07-28: name of 1 to 128 of [A-Za-z0-9_.-], inputSchema and outputSchema
// whose root is an object (2025-06-18 wants that of both), annotations.
TEST(McpDefinition, HasThePublishedShape) {
  for (const std::string_view tool : tool_names()) {
    const json out = definition(tool, ToolFormat::kMcp);
    EXPECT_EQ(keys(out), (std::set<std::string>{"name", "title", "description", "inputSchema",
                                                "outputSchema", "annotations"}));
    EXPECT_TRUE(
        std::regex_match(out.at("name").get<std::string>(), std::regex("[A-Za-z0-9_.-]{1,128}")));
    expect_object_schema(out.at("inputSchema"));
    EXPECT_EQ(out.at("outputSchema").at("type"), "object");
    EXPECT_TRUE(out.at("annotations").at("title").is_string());
    for (const char* hint : {"readOnlyHint", "destructiveHint", "openWorldHint"}) {
      EXPECT_TRUE(out.at("annotations").at(hint).is_boolean()) << hint;
    }
  }
}

std::set<std::string> shown(std::string_view tool) {
  return keys(definition(tool, ToolFormat::kAnthropic).at("input_schema").at("properties"));
}

// Hidden params are not in the schema that a model sees.
TEST(Definitions, LeaveHiddenParamsOut) {
  EXPECT_EQ(shown("shell"), (std::set<std::string>{"command", "description", "run_in_background"}));
  EXPECT_EQ(shown("bash"),
            (std::set<std::string>{"command", "description", "timeout", "run_in_background"}));
  EXPECT_EQ(shown("bash_output"), std::set<std::string>{"shell_id"});
  EXPECT_EQ(shown("execute_command"), (std::set<std::string>{"command", "timeout_ms"}));
  EXPECT_EQ(shown("code_execution"),
            (std::set<std::string>{"command", "description", "timeout_ms"}));
}

// The page's schema.
TEST(Definitions, BashExecIsThePages) {
  const json schema = definition("bash_exec", ToolFormat::kAnthropic).at("input_schema");
  EXPECT_EQ(keys(schema.at("properties")),
            (std::set<std::string>{"command", "timeout_ms", "env", "allow_network", "max_output_kb",
                                   "max_file_kb", "files"}));
  EXPECT_EQ(schema.at("required"), json({"command"}));
  EXPECT_EQ(schema.at("additionalProperties"), false);
  const json& item = schema.at("properties").at("files").at("items");
  EXPECT_EQ(item.at("required"), json({"path", "content"}));
  EXPECT_EQ(item.at("additionalProperties"), false);
  EXPECT_EQ(schema.at("properties").at("timeout_ms").at("type"), "integer");
  EXPECT_EQ(schema.at("properties").at("timeout_ms").at("default"), 2000);
  EXPECT_FALSE(schema.at("properties").at("timeout_ms").contains("maximum"));
}

TEST(Definitions, BashSaysThatATimeIsMoreThanZero) {
  const json schema = definition("bash", ToolFormat::kAnthropic).at("input_schema");
  EXPECT_EQ(schema.at("required"), json({"command", "description"}));
  EXPECT_EQ(schema.at("properties").at("timeout").at("exclusiveMinimum"), 0);
  EXPECT_EQ(schema.at("properties").at("timeout").at("default"), 120);
}

TEST(Definitions, ThereIsNoneForAnUnknownTool) {
  EXPECT_FALSE(tool_definition("nope", ToolFormat::kMcp).ok());
}

}  // namespace
}  // namespace sbx
