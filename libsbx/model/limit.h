// SPDX-License-Identifier: Apache-2.0
// The limits of a run, and what may hold one: by these names the plan, a result and its schema, the
// doctor and the text for a person know them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sbx {

enum class Limit : std::uint8_t {
  kTimeout,
  kCpu,
  kMemory,
  kPids,
  kOpenFiles,
  kFile,
  kTmp,
  kLayer,
  kOutput,
};

struct LimitRow {
  Limit limit;
  std::string_view name;   // in a result's sandbox.limits
  std::string_view ended;  // as a result's "limit"; empty: it ends no run under its own name
};

// In the order of Limit.
inline constexpr LimitRow kLimits[] = {
    {Limit::kTimeout, "timeout", ""},      {Limit::kCpu, "cpu", "cpu"},
    {Limit::kMemory, "memory", "memory"},  {Limit::kPids, "pids", "pids"},
    {Limit::kOpenFiles, "open_files", ""}, {Limit::kFile, "file", "file_size"},
    {Limit::kTmp, "tmp", "disk"},          {Limit::kLayer, "layer", "disk"},
    {Limit::kOutput, "output", ""},
};

constexpr const LimitRow& limit_row(Limit limit) {
  return kLimits[static_cast<std::size_t>(limit)];
}
constexpr std::string_view limit_name(Limit limit) { return limit_row(limit).name; }
constexpr std::optional<Limit> limit_of_name(std::string_view name) {
  for (const LimitRow& row : kLimits) {
    if (row.name == name) return row.limit;
  }
  return std::nullopt;
}

enum class Enforcer : std::uint8_t { kCgroup, kRlimit, kWatch, kNone };
inline constexpr std::string_view kEnforcers[] = {"cgroup2", "rlimit", "watch", "none"};
constexpr std::string_view enforcer_name(Enforcer enforcer) {
  return kEnforcers[static_cast<std::size_t>(enforcer)];
}

}  // namespace sbx
