// SPDX-License-Identifier: Apache-2.0
// Some grants come as text from sbx-http, so all are read back (model/grant.h).
#include "policy/futile_grants.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/reader.h"
#include "model/grant.h"
#include "policy/narrow.h"
#include "profile/host_rule.h"

namespace sbx {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

// The file that keeps the path from being shown so; empty: none does.
std::string holder_of_path(const Policy& policy, const std::string& path, Access wanted) {
  const PathMaximum* const most = least_maximum(policy.sandbox.maxima, path);
  return most != nullptr && most->access < wanted ? most->file : "";
}

std::string holder_of_limit(const Policy& policy, const std::string& name) {
  const auto managed = policy.run.managed_limits.find(name);
  const SandboxPolicy& sandbox = policy.sandbox;
  std::optional<std::int64_t> now = sandbox.limits.tmp_mb;
  if (name == "open_files") now = sandbox.limits.open_files;
  if (name == "file_kb") now = sandbox.file_bytes.value_or(0) / 1024;
  const bool is_most = managed != policy.run.managed_limits.end() && now >= managed->second.most;
  return is_most ? managed->second.file : "";
}

// Of one entry of a list, or of the one value.
std::string holder_of(const Policy& policy, std::string_view setting, const Json& value) {
  if (setting == "filesystem.roots" && value.is_object()) {
    const bool to_write = text_of(value.value("access", Json())) == "rw";
    return holder_of_path(policy, text_of(value.value("path", Json())),
                          to_write ? Access::kReadWrite : Access::kReadOnly);
  }
  if (setting == "filesystem.devices" || setting == "network.unix_sockets") {
    return holder_of_path(policy, text_of(value), Access::kReadWrite);
  }
  constexpr std::string_view kLimits = "limits.";
  if (setting.starts_with(kLimits)) {
    return holder_of_limit(policy, std::string(setting.substr(kLimits.size())));
  }
  const auto rule = setting == "network.allow" ? parse_host_rule(text_of(value)) : std::nullopt;
  for (const ManagedReach& reach : policy.run.managed_reach) {
    const bool is_held = (rule && !may_list(reach, *rule)) ||
                         (setting == "network.host_ports" && value.is_number_integer() &&
                          !may_list(reach, value.get<int>())) ||
                         (setting == "network.mode" && reach.most == NetworkMode::kNone);
    if (is_held) return reach.file;
  }
  return "";
}

// One entry that is held makes the others futile.
std::string holder_of(const Policy& policy, const GrantParts& grant) {
  Json values = parse_json(grant.value);
  if (!values.is_array()) values = Json::array({values});
  for (const Json& value : values) {
    std::string holder = holder_of(policy, grant.setting, value);
    if (!holder.empty()) return holder;
  }
  return "";
}

}  // namespace

void drop_futile_grants(const Policy& policy, Outcome& outcome) {
  if (policy.run.managed.empty()) return;
  std::vector<std::string>& warnings = outcome.sandbox.warnings;
  for (Denial& denial : outcome.denials) {
    const GrantParts grant = grant_parts(denial.grant);
    const std::string holder = grant.setting.empty() ? "" : holder_of(policy, grant);
    if (holder.empty()) continue;
    denial.grant.clear();
    std::string line = "denials: no profile grants what " + holder + " keeps back";
    if (std::find(warnings.begin(), warnings.end(), line) == warnings.end()) {
      warnings.push_back(std::move(line));
    }
  }
}

}  // namespace sbx
