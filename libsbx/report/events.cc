// SPDX-License-Identifier: Apache-2.0
// A run that is no task of a session has no task_id: null.
#include "report/events.h"

#include "report/json.h"
#include "report/json_parts.h"

namespace sbx {
namespace {

void begin_event(JsonWriter& json, std::string_view event) {
  json.begin_object();
  write_member(json, "event", event);
  json.key("task_id");
  json.null();
}

}  // namespace

std::string output_event(OutputChannel channel, std::string_view text, std::uint64_t offset) {
  std::string line;
  line.reserve(text.size() + 100);
  JsonWriter json(line);
  begin_event(json, "output");
  write_member(json, "stream", channel == OutputChannel::kOut ? "stdout" : "stderr");
  write_member(json, "text", text);
  json.key("offset");
  json.count(offset);
  json.end_object();
  return line;
}

std::string denial_event(const Denial& denial) {
  std::string line;
  JsonWriter json(line);
  begin_event(json, "denial");
  write_denial_members(json, denial);
  json.end_object();
  return line;
}

std::string result_event(const Outcome& outcome) {
  return R"({"event":"result","task_id":null,)" + outcome_to_json(outcome).substr(1);
}

}  // namespace sbx
