// SPDX-License-Identifier: Apache-2.0
// What each tool is made of: its table of params, and its two halves. The definitions, the strict
// decoding and the schemas are printed from the same table. Internal to the room.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "json/field.h"
#include "tools/reply.h"
#include "tools/tool.h"

namespace sbx {

struct Renamed {
  std::string_view method;
  std::string_view tool;
};

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;
  std::string_view profile;
  std::string_view shell;  // that runs its commands; empty: the profile's
  std::span<const FieldSpec> fields;
  std::span<const FieldSpec> shown;  // those that a model sees
  // Pointers into a method's params and what stands for them in the tool's.
  std::span<const Renamed> renamed;
  std::string_view defaults;       // a JSON object: default values by key, for the schema
  std::string_view output_schema;  // of the structured answer
  bool answers_text = false;
  bool reads_only = false;  // changes nothing: for MCP's hints
  // `params` has passed the table and has no nulls.
  Result<ToolCall> (*decode)(const nlohmann::json& params, const ToolSettings& settings);
  // Of a reply to something that ran. A text tool fills both texts, a JSON tool `structured`.
  ToolAnswer (*answer)(const ToolCall& call, const Reply& reply);
  // The structured answer of a call that ran nothing, without its error.
  nlohmann::ordered_json (*nothing)(const ToolCall& call, const Reply& reply);
};

extern const Tool kBashTool;
extern const Tool kBashOutputTool;
extern const Tool kKillShellTool;
extern const Tool kShellTool;
extern const Tool kBashExecTool;
extern const Tool kExecuteCommandTool;
extern const Tool kCodeExecutionTool;

const Tool* find_tool(std::string_view name);

}  // namespace sbx
