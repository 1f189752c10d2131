// SPDX-License-Identifier: Apache-2.0
// A judgement, key by key.
#include "report/judgement.h"

#include "base/text.h"
#include "json/writer.h"

namespace sbx {
namespace {

void write_member(JsonWriter& json, std::string_view key, std::string_view value) {
  json.key(key);
  json.string(value);
}

void write_span(JsonWriter& json, const Span& span) {
  json.key("span");
  json.begin_array();
  json.count(span.begin);
  json.count(span.end);
  json.end_array();
}

}  // namespace

void write_rules(JsonWriter& json, const std::vector<Finding>& findings) {
  json.begin_array();
  for (const Finding& finding : findings) {
    json.begin_object();
    write_member(json, "id", finding.id);
    write_member(json, "verdict", verdict_name(finding.verdict));
    write_member(json, "reason", finding.reason);
    write_span(json, finding.span);
    write_member(json, "program", finding.program);
    write_member(json, "target", finding.target);
    json.key("grant");
    json.string_or_null(finding.grant);
    json.end_object();
  }
  json.end_array();
}

void write_judgement(JsonWriter& json, const guard::Judgement& judgement) {
  json.begin_object();
  write_member(json, "verdict", verdict_name(judgement.verdict));
  json.key("rules");
  write_rules(json, judgement.findings);
  json.key("unknown");
  json.begin_array();
  for (const shell::Unknown& unknown : judgement.unknown) {
    json.begin_object();
    write_span(json, unknown.span);
    write_member(json, "what", unknown.what);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

std::string judgement_to_json(const guard::Judgement& judgement) {
  std::string text;
  JsonWriter json(text);
  write_judgement(json, judgement);
  return text;
}

std::string judgement_to_text(const guard::Judgement& judgement) {
  constexpr std::size_t kColumn = 11;
  std::string text;
  const auto add = [&text](std::string line, std::string_view first, const std::string& rest) {
    line += first;
    line.resize(line.size() + kColumn - std::min(kColumn - 1, first.size()), ' ');
    text += escape_control_bytes(line + rest) + "\n";
  };
  add("", "verdict", std::string(verdict_name(judgement.verdict)));
  for (const Finding& finding : judgement.findings) {
    std::string rest = finding.reason + " (" + finding.id + ")";
    if (!finding.target.empty()) rest += ": " + finding.target;
    if (!finding.grant.empty()) rest += "; allow it with " + finding.grant + " in the profile";
    add("  ", verdict_name(finding.verdict), rest);
  }
  for (const shell::Unknown& unknown : judgement.unknown) add("  ", "unknown", unknown.what);
  return text;
}

int judgement_exit_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllow:
      return 0;
    case Verdict::kAsk:
      return 3;
    case Verdict::kDeny:
      return 126;
  }
  return 126;
}

}  // namespace sbx
