// SPDX-License-Identifier: Apache-2.0
// The layer of a session as tools of MCP: its diff, a checkpoint, and a commit that the user is
// asked about. Values only.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rpc/mcp_message.h"
#include "session/layer_action.h"

namespace sbx {

inline constexpr std::string_view kLayerDiffTool = "layer_diff";
inline constexpr std::string_view kLayerCheckpointTool = "layer_checkpoint";
inline constexpr std::string_view kLayerCommitTool = "layer_commit";

bool is_layer_tool(std::string_view name);
// As tools/list has them.
McpJson layer_tool_definitions();

struct LayerToolCall {
  std::vector<std::string> paths;
  std::string label;
};
// Errors: kWrongType, kUnknownField.
Result<LayerToolCall> read_layer_call(std::string_view tool, std::string_view arguments);

// Of the text of sbx-layer's diff: whether there is anything to commit, what the user is asked
// about that, and what tells that the changes are still the same when the answer comes.
bool changes_nothing(std::string_view diff);
McpJson commit_question(std::string_view diff);
std::string changes_digest(std::string_view diff);

// The result of a call: sbx-layer's answer, or what kept it from one.
McpJson layer_result(std::string_view tool, const Result<LayerAnswer>& answer);

}  // namespace sbx
