// SPDX-License-Identifier: Apache-2.0
// Nothing here reads the clock, the time zone or the locale.
#include "report/json_parts.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "model/exit_status.h"
#include "report/judgement.h"

namespace sbx {

std::string utc_time(std::int64_t unix_ms) {
  using std::chrono::days;
  using std::chrono::milliseconds;
  constexpr std::int64_t kYear9999 = 253'402'300'799'999;
  const milliseconds since_epoch(std::clamp<std::int64_t>(unix_ms, 0, kYear9999));
  const auto day = std::chrono::floor<days>(since_epoch);
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const std::chrono::hh_mm_ss time{since_epoch - day};
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                                   int(date.year()), unsigned(date.month()), unsigned(date.day()),
                                   int(time.hours().count()), int(time.minutes().count()),
                                   int(time.seconds().count()), int(time.subseconds().count()));
  return {text, static_cast<std::size_t>(length)};
}

void write_member(JsonWriter& json, std::string_view key, std::string_view value) {
  json.key(key);
  json.string(value);
}

void write_strings(JsonWriter& json, std::string_view key, const std::vector<std::string>& values) {
  write_array(json, key, values, [&](const std::string& value) { json.string(value); });
}

void write_denial_members(JsonWriter& json, const Denial& denial) {
  write_member(json, "layer", refuser_name(denial.layer));
  write_member(json, "operation", denial.operation);
  write_member(json, "target", denial.target);
  json.key("count");
  json.count(denial.count);
  write_member(json, "program", denial.program);
  write_member(json, "grant", denial.grant);
}

void write_denials(JsonWriter& json, const std::vector<Denial>& denials) {
  write_array(json, "denials", denials, [&](const Denial& denial) {
    json.begin_object();
    write_denial_members(json, denial);
    json.end_object();
  });
}

void write_degraded(JsonWriter& json, const std::vector<Degradation>& degraded) {
  write_array(json, "degraded", degraded, [&](const Degradation& part) {
    json.begin_object();
    write_member(json, "what", part.what);
    write_member(json, "reason", part.reason);
    json.end_object();
  });
}

void write_managed(JsonWriter& json, const std::vector<ManagedMark>& managed) {
  if (managed.empty()) {
    json.key("managed");
    return json.null();
  }
  write_array(json, "managed", managed, [&](const ManagedMark& mark) {
    json.begin_object();
    write_member(json, "path", mark.path);
    write_member(json, "sha256", mark.sha256);
    json.end_object();
  });
}

void write_kept(JsonWriter& json, const std::optional<KeptReport>& kept) {
  json.key("layer");
  if (!kept) return json.null();
  json.begin_object();
  write_member(json, "name", kept->name);
  write_member(json, "kind", kept->kind);
  json.end_object();
}

void write_approval(JsonWriter& json, const Approval& approval) {
  json.key("approval");
  json.begin_object();
  write_member(json, "digest", approval.digest);
  json.key("rules");
  write_rules(json, approval.rules);
  json.end_object();
}

void write_redactions(JsonWriter& json, const Redactions& redactions) {
  json.key("redactions");
  json.begin_object();
  json.key("count");
  json.count(redactions.count);
  write_strings(json, "rules", redactions.rules);
  json.end_object();
}

void write_error(JsonWriter& json, const std::optional<Error>& error) {
  json.key("error");
  if (!error) {
    json.null();
    return;
  }
  json.begin_object();
  write_member(json, "code", error_name(error->code));
  write_member(json, "message", error->message);
  json.key("where");
  json.string_or_null(error->where);
  json.key("hint");
  json.string_or_null(error->hint);
  json.end_object();
}

void write_text_or_null(JsonWriter& json, std::string_view key, std::string_view text) {
  json.key(key);
  json.string_or_null(text);
}

void write_end(JsonWriter& json, const Outcome& outcome) {
  write_member(json, "status", run_status_name(outcome.status));
  json.key("exit_code");
  if (outcome.exit_code) {
    json.integer(*outcome.exit_code);
  } else {
    json.null();
  }
  write_text_or_null(json, "signal", outcome.signal != 0 ? signal_name(outcome.signal) : "");
}

namespace {

void write_exchange(JsonWriter& json, const HttpExchange& exchange) {
  json.begin_object();
  write_member(json, "time", utc_time(exchange.time_ms));
  write_member(json, "method", exchange.method);
  write_member(json, "host", exchange.host);
  write_member(json, "path", exchange.path);
  json.key("status");
  json.integer(exchange.status);
  json.key("bytes_sent");
  json.count(exchange.bytes_sent);
  json.key("bytes_received");
  json.count(exchange.bytes_received);
  write_text_or_null(json, "rule", exchange.rule);
  json.end_object();
}

}  // namespace

void write_connections(JsonWriter& json, const Outcome& outcome) {
  if (outcome.connections.empty() && !outcome.has_http) return;
  write_array(json, "connections", outcome.connections, [&](const AllowedConnection& connection) {
    json.begin_object();
    write_text_or_null(json, "name", connection.name);
    write_text_or_null(json, "address", connection.address);
    json.key("port");
    json.integer(connection.port);
    json.key("bytes_out");
    json.count(connection.bytes_out);
    json.key("bytes_in");
    json.count(connection.bytes_in);
    if (connection.is_read) {
      write_array(json, "requests", connection.requests,
                  [&](const HttpExchange& exchange) { write_exchange(json, exchange); });
    }
    json.end_object();
  });
  for (const auto& [key, count] :
       {std::pair<const char*, std::uint64_t>{"unlisted_connections", outcome.unlisted_connections},
        {"unlisted_requests", outcome.unlisted_requests}}) {
    if (count == 0) continue;
    json.key(key);
    json.count(count);
  }
}

}  // namespace sbx
