// SPDX-License-Identifier: Apache-2.0
// Pieces that the tools' first halves share: params that have passed their table → a request.
// Internal to the room.
#pragma once

#include <initializer_list>
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

// Moves a member of a tool's params to where a request has it.
struct Moved {
  const char* tool;
  const char* request;
};
// {"command", "description", "approval"} of a call that runs something, and what else it moves: the
// document of a request.
nlohmann::json take_request(nlohmann::json& params, std::initializer_list<Moved> more = {});

}  // namespace sbx
