// SPDX-License-Identifier: Apache-2.0
// Pieces that the tools' two halves share: params that have passed their table → members of a
// method call. Internal to the room.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "tools/tool.h"

namespace sbx {

std::string text_param(const nlohmann::json& params, const char* key);  // empty: absent
bool flag_param(const nlohmann::json& params, const char* key);         // false: absent

// A time in seconds, more than 0. Errors: kOutOfRange.
Result<std::optional<std::int64_t>> seconds_param(const nlohmann::json& params, const char* key);
// A whole number of milliseconds, 1 or more; the table has checked it.
std::optional<std::int64_t> count_param(const nlohmann::json& params, const char* key);

// {"command", "description", "approval"} of a call that runs something.
nlohmann::ordered_json run_params(const nlohmann::json& params);

// A call of one method.
ToolCall one_call(std::string method, const nlohmann::ordered_json& params);
// {"task_id": ID}.
MethodCall task_call(std::string method, const std::string& task_id);

// Adds a newline unless `text` is empty or ends with one.
void end_line(std::string& text);

}  // namespace sbx
