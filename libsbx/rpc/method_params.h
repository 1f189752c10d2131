// SPDX-License-Identifier: Apache-2.0
// The params of the methods beside `run` and `start`: JSON → values,
// strictly, one table a method. Touches nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/field.h"

namespace sbx {

struct MethodParams {
  std::string task_id;  // empty: not given
  std::uint64_t since = 0;
  std::optional<bool> follow;
  std::optional<bool> replay;
  std::optional<bool> stream;
  std::string match;  // empty: none
  std::string text;
  bool close = false;
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::int64_t> grace_ms;
  std::string digest;
  std::string name;    // of a tool
  std::string params;  // of a tool, JSON text
};

// Every method.
std::span<const std::string_view> method_names();

// The table of `method`; null for one that takes what `run` takes, and for an unknown one.
const ObjectSpec* method_spec(std::string_view method);

// Errors: those of check_fields(), with a pointer into the params.
Result<MethodParams> decode_method_params(const nlohmann::json& params, const ObjectSpec& spec);

// What `start`, or `run`, takes beside the request, for followers of its output; it is removed from
// `params`.
Result<MethodParams> take_follower_params(nlohmann::json& params, bool is_task);

Result<MethodParams> decode_tool_params(nlohmann::json params);

// The id that is to be cancelled, in the form of normal_id().
Result<std::string> decode_cancel_params(const nlohmann::json& params);

// One text for one JSON value, however it was written; empty for what is no JSON.
std::string normal_id(std::string_view json_text);

}  // namespace sbx
