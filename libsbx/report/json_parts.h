// SPDX-License-Identifier: Apache-2.0
// The parts that an answer and an audit record have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/writer.h"
#include "model/outcome.h"

namespace sbx {

// Unix milliseconds → "2026-01-31T12:00:00.123Z".
std::string utc_time(std::int64_t unix_ms);

template <typename T, typename Write>
void write_array(JsonWriter& json, std::string_view key, const std::vector<T>& values,
                 Write write) {
  json.key(key);
  json.begin_array();
  for (const T& value : values) write(value);
  json.end_array();
}

void write_member(JsonWriter& json, std::string_view key, std::string_view value);
void write_strings(JsonWriter& json, std::string_view key, const std::vector<std::string>& values);
void write_denial_members(JsonWriter& json, const Denial& denial);
void write_denials(JsonWriter& json, const std::vector<Denial>& denials);
// "degraded": what was wanted and is not in force.
void write_degraded(JsonWriter& json, const std::vector<Degradation>& degraded);
// "managed": the files of the managed policy, or null.
void write_managed(JsonWriter& json, const std::vector<ManagedMark>& managed);
// "layer": that writes were kept in, or null.
void write_kept(JsonWriter& json, const std::optional<KeptReport>& kept);
// "approval": what a person would have to allow.
void write_approval(JsonWriter& json, const Approval& approval);
void write_redactions(JsonWriter& json, const Redactions& redactions);
void write_text_or_null(JsonWriter& json, std::string_view key, std::string_view text);
// "status", "exit_code" and "signal".
void write_end(JsonWriter& json, const Outcome& outcome);
// "connections": only where the profile's network policy let some through.
void write_connections(JsonWriter& json, const Outcome& outcome);
void write_error(JsonWriter& json, const std::optional<Error>& error);

}  // namespace sbx
