// SPDX-License-Identifier: Apache-2.0
// Members of params, and of what they become.
#include "tools/params.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "json/check.h"
#include "tools/reply.h"

namespace sbx {

using nlohmann::json;
using nlohmann::ordered_json;

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

ordered_json run_params(const json& params) {
  ordered_json out = {{"command", text_param(params, "command")}};
  for (const char* key : {"description", "approval"}) {
    if (params.contains(key)) out[key] = text_param(params, key);
  }
  return out;
}

ToolCall one_call(std::string method, const ordered_json& params) {
  ToolCall call;
  call.calls.push_back(MethodCall{std::move(method), json_text(params), false, ""});
  return call;
}

MethodCall task_call(std::string method, const std::string& task_id) {
  return MethodCall{std::move(method), json_text({{"task_id", task_id}}), false, task_id};
}

void end_line(std::string& text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
}

}  // namespace sbx
