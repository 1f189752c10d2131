// SPDX-License-Identifier: Apache-2.0
// Members of params, and where they go.
#include "tools/params.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "json/check.h"

namespace sbx {

using nlohmann::json;

std::string text_param(const json& params, const char* key) {
  const auto at = params.find(key);
  return at == params.end() ? "" : at->get<std::string>();
}

bool flag_param(const json& params, const char* key) {
  const auto at = params.find(key);
  return at != params.end() && at->get<bool>();
}

Result<std::optional<std::int64_t>> seconds_param(const json& params, const char* key) {
  const auto at = params.find(key);
  if (at == params.end()) return std::optional<std::int64_t>();
  constexpr double kMostSeconds = 1e9;  // beyond every ceiling, and exact in milliseconds
  const double seconds = std::min(at->get<double>(), kMostSeconds);
  const auto ms = static_cast<std::int64_t>(std::llround(seconds * 1000));
  if (seconds > 0 && ms > 0) return std::optional<std::int64_t>(ms);
  return Error{ErrorCode::kOutOfRange, "must be more than 0, not " + at->dump(),
               std::string("/") + key, "a time in seconds"};
}

std::optional<std::int64_t> count_param(const json& params, const char* key) {
  const auto at = params.find(key);
  return at == params.end() ? std::nullopt : whole_number(*at);
}

json take_request(json& params, std::initializer_list<Moved> more) {
  json request = json::object();
  const auto move = [&](const Moved& moved) {
    const auto at = params.find(moved.tool);
    if (at != params.end()) request[moved.request] = std::move(*at);
  };
  for (const char* key : {"command", "description", "approval"}) move({key, key});
  for (const Moved& moved : more) move(moved);
  return request;
}

}  // namespace sbx
