// SPDX-License-Identifier: Apache-2.0
// The answer, key by key in the order of docs/result.md. Nothing here reads the clock, the
// time zone or the locale.
#include "report/json.h"

#include "json/writer.h"
#include "model/exit_status.h"
#include "report/json_parts.h"

namespace sbx {
namespace {

void write_status(JsonWriter& json, const Outcome& outcome) {
  write_end(json, outcome);
  json.key("timed_out");
  json.boolean(outcome.status == RunStatus::kTimedOut);
}

void write_command(JsonWriter& json, const Outcome& outcome) {
  write_member(json, "command", outcome.command);
  write_strings(json, "argv", outcome.argv);
  write_member(json, "cwd", outcome.cwd);
  json.key("description");
  if (outcome.description) {
    json.string(*outcome.description);
  } else {
    json.null();
  }
  write_member(json, "started_at", utc_time(outcome.started_at_ms));
  json.key("duration_ms");
  json.tenths(outcome.duration_ms);
  json.key("usage");
  json.begin_object();
  json.key("user_ms");
  json.tenths(outcome.usage.user_ms);
  json.key("system_ms");
  json.tenths(outcome.usage.system_ms);
  json.key("max_rss_kb");
  json.integer(outcome.usage.max_rss_kb);
  json.end_object();
}

void write_layers(JsonWriter& json, const SandboxReport& sandbox) {
  json.key("layers");
  json.begin_object();
  for (int i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    json.key(layer_name(layer));
    if (layer == Layer::kLandlock && sandbox.confirmed.has(layer) && sandbox.landlock_abi > 0) {
      json.integer(sandbox.landlock_abi);
    } else {
      json.boolean(layer != Layer::kLandlock && sandbox.confirmed.has(layer));
    }
  }
  json.end_object();
}

void write_sandbox(JsonWriter& json, const SandboxReport& sandbox) {
  json.key("sandbox");
  json.begin_object();
  write_member(json, "profile", sandbox.profile);
  write_layers(json, sandbox);
  json.key("limits");
  json.begin_object();
  for (const LimitReport& limit : sandbox.limits)
    write_member(json, limit_name(limit.limit), enforcer_name(limit.enforcer));
  json.end_object();
  write_degraded(json, sandbox.degraded);
  write_array(json, "published", sandbox.published, [&](const Published& published) {
    json.begin_object();
    write_member(json, "host", "127.0.0.1:" + std::to_string(published.host_port));
    json.key("port");
    json.count(static_cast<std::uint64_t>(published.port));
    json.end_object();
  });
  write_strings(json, "warnings", sandbox.warnings);
  write_managed(json, sandbox.managed);
  write_array(json, "supplementary_groups", sandbox.groups,
              [&](unsigned group) { json.count(group); });
  json.end_object();
}

void write_changes(JsonWriter& json, const std::optional<std::vector<Change>>& changes) {
  if (!changes) {
    json.key("changes");
    json.null();
    return;
  }
  write_array(json, "changes", *changes, [&](const Change& change) {
    json.begin_object();
    write_member(json, "path", change.path);
    write_member(json, "kind", change.kind);
    json.end_object();
  });
}

}  // namespace

void write_streams(JsonWriter& json, const Outcome& outcome) {
  const StreamText& out = outcome.out;
  const StreamText& err = outcome.err;
  write_member(json, "stdout", out.text);
  write_member(json, "stderr", err.text);
  json.key("stdout_bytes");
  json.count(out.bytes);
  json.key("stderr_bytes");
  json.count(err.bytes);
  json.key("truncated");
  json.begin_object();
  json.key("stdout");
  json.boolean(out.truncated);
  json.key("stderr");
  json.boolean(err.truncated);
  json.end_object();
  json.key("encoding");
  json.begin_object();
  write_member(json, "stdout", out.base64 ? "base64" : "utf-8");
  write_member(json, "stderr", err.base64 ? "base64" : "utf-8");
  json.end_object();
}

void write_outcome_members(JsonWriter& json, const Outcome& outcome) {
  constexpr std::size_t kUsualSizeOfTheRest = 2048;
  json.reserve(outcome.out.text.size() + outcome.err.text.size() + outcome.command.size() +
               kUsualSizeOfTheRest);
  write_status(json, outcome);
  write_streams(json, outcome);
  json.key("output_path");
  json.string_or_null(outcome.output_path);
  json.key("result_json");
  json.verbatim(outcome.result_json.value_or("null"));
  write_command(json, outcome);
  json.key("limit");
  json.string_or_null(outcome.limit ? limit_row(*outcome.limit).ended : std::string_view());
  write_denials(json, outcome.denials);
  write_redactions(json, outcome.redactions);
  write_sandbox(json, outcome.sandbox);
  write_strings(json, "warnings", outcome.sandbox.warnings);
  write_connections(json, outcome);
  write_kept(json, outcome.kept);
  write_changes(json, outcome.changes);
  if (outcome.approval) {
    write_approval(json, *outcome.approval);
  } else {
    json.key("approval");
    json.null();
  }
  write_error(json, outcome.error);
}

void write_outcome(JsonWriter& json, const Outcome& outcome) {
  json.begin_object();
  write_outcome_members(json, outcome);
  json.end_object();
}

std::string outcome_to_json(const Outcome& outcome) {
  std::string text;
  JsonWriter json(text);
  write_outcome(json, outcome);
  return text;
}

std::string errors_json() {
  std::string text;
  JsonWriter json(text);
  json.begin_array();
  for (const ErrorMeaning& entry : error_meanings()) {
    json.begin_object();
    write_member(json, "code", entry.name);
    write_member(json, "meaning", entry.meaning);
    json.end_object();
  }
  json.end_array();
  return text;
}

}  // namespace sbx
