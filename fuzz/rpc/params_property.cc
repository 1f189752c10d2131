// SPDX-License-Identifier: Apache-2.0
// Refused with words, or within every bound that the decoder promises.
#include "params_property.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "policy/params.h"
#include "policy/request.h"

namespace {

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }
bool is_positive(const std::optional<std::int64_t>& count) { return !count || *count > 0; }

}  // namespace

bool params_hold(std::string_view text) {
  const auto document = sbx::read_params(text);
  const auto decoded = document.ok() ? sbx::decode_request(document.value(), "/params")
                                     : sbx::Result<sbx::Request>(document.error());
  if (!decoded.ok()) {
    const sbx::Error& error = decoded.error();
    return !error.message.empty() && (error.where.empty() || error.where.starts_with('/'));
  }
  const sbx::Request& request = decoded.value();
  if (request.command.empty()) return false;
  if (std::any_of(request.argv.begin(), request.argv.end(), has_nul)) return false;
  if (!is_positive(request.timeout_ms) || !is_positive(request.output_kb)) return false;
  if (!is_positive(request.file_kb)) return false;
  for (const sbx::RequestFile& file : request.files) {
    if (file.mode.value_or(0) > 0777) return false;
  }
  sbx::Policy policy;
  policy.sandbox.workspace = "/work";
  policy.run.limits.timeout_ms = 1000;
  policy.run.environment.request = true;
  const auto applied = sbx::apply_request(std::make_shared<const sbx::Policy>(policy), request);
  return !applied.ok() || applied.value()->run.limits.timeout_ms.value_or(1001) <= 1000;
}
