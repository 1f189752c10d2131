// SPDX-License-Identifier: Apache-2.0
// A tool's row: its table of params, and its two halves. The definitions, the strict
// decoding and the schemas are printed from the same table. Internal to the room.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "json/field.h"
#include "tools/result.h"
#include "tools/tool.h"

namespace sbx {

inline constexpr ValueSpec kText = {.kind = Kind::kText};
// Of each tool that runs something.
inline constexpr FieldSpec kApprovalField = {"approval",
                                             "The digest of an approval that was granted.", kText};

// One thing under two names: pointers into a request's params and into the tool's.
struct Renamed {
  std::string_view request;
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
  std::span<const Renamed> renamed;
  std::string_view defaults;       // a JSON object: default values by key, for the schema
  std::string_view output_schema;  // of the structured answer
  bool keeps_times = false;        // its profile's time and ceiling count under others too
  bool reads_only = false;         // changes nothing: for MCP's hints
  // `params` has passed the table and has no nulls; what it holds may be taken.
  Result<ToolCall> (*decode)(nlohmann::json& params, const ToolSettings& settings);
  // The members of the structured answer, whatever came of the call, without its error.
  void (*write)(JsonWriter& json, const ToolCall& call, const ToolResult& result);
  // The text for a call that was done. Null: the tool's own answer is the structured one.
  std::string (*text)(const ToolCall& call, const ToolResult& result) = nullptr;
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
