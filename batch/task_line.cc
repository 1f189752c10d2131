// SPDX-License-Identifier: Apache-2.0
// Members are looked at as text: a line is neither built nor copied more than once.
#include "task_line.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"
#include "json/reader.h"
#include "json/scan.h"
#include "json/writer.h"
#include "report/json.h"
#include "rpc/json_rpc.h"
#include "run/answer.h"

namespace sbx::batch {
namespace {

Result<std::vector<RawMember>> members_of(std::string_view line) {
  const std::size_t valid = valid_utf8_prefix(line);
  if (valid != line.size()) {
    return Error{ErrorCode::kBadJson, "not UTF-8 (byte " + std::to_string(valid + 1) + ")", "",
                 "one JSON object a line, in UTF-8"};
  }
  return read_members(line);
}

Result<std::string> read_id(std::string_view value) {
  SBX_TRY(const nlohmann::json id, read_json_strict(value));
  if (!id.is_string()) {
    return Error{ErrorCode::kWrongType, "the id must be a string", "/id",
                 "give each task an id of its own, such as \"1\""};
  }
  auto text = id.get<std::string>();
  if (!text.empty()) return text;
  return Error{ErrorCode::kBadValue, "the id is empty", "/id", "give each task an id of its own"};
}

std::string text_of(std::string_view value) {
  Result<nlohmann::json> read = read_json_strict(value);
  return read.ok() && read.value().is_string() ? read.value().get<std::string>() : "";
}

Ending ending_of(std::string_view status, bool is_zero) {
  if (status == "exited" && is_zero) return Ending::kDone;
  if (status == "denied" || status == "needs_approval") return Ending::kRefused;
  if (status == "error") return Ending::kError;
  return status == "cancelled" ? Ending::kCancelled : Ending::kFailed;
}

}  // namespace

Result<TaskLine> read_task_line(std::string_view line) {
  SBX_TRY(const std::vector<RawMember> members, members_of(line));
  TaskLine out;
  out.params.reserve(line.size());
  JsonWriter json(out.params);
  json.begin_object();
  for (const RawMember& member : members) {
    if (member.key == "id") {
      SBX_TRY(out.id, read_id(member.value));
      continue;
    }
    json.key(member.key);
    json.verbatim(member.value);
  }
  json.end_object();
  if (!out.id.empty()) return out;
  return Error{ErrorCode::kMissingField, "the line has no id", "/id",
               "give each task an id of its own"};
}

std::string id_of_refused(std::string_view line) {
  const Result<std::vector<RawMember>> members = members_of(line);
  if (members.ok() || members.error().code == ErrorCode::kBadJson) return "";
  return id_of_beginning(line);
}

std::string id_of_beginning(std::string_view head) {
  std::string id;
  JsonScan scan(head);
  scan.skip_space();
  while (scan.take('{') || scan.take(',')) {
    scan.skip_space();
    const std::string key = text_of(scan.string().value_or(""));
    scan.skip_space();
    scan.take(':');
    const auto value = scan.value();
    if (!value) break;
    scan.skip_space();
    if (key != "id") continue;
    if (!id.empty()) return "";  // which of the two is not known
    id = text_of(*value);
  }
  return id;
}

Result<ResultLine> read_result_line(std::string_view line) {
  SBX_TRY(const std::vector<RawMember> members, members_of(line));
  ResultLine out;
  std::string status;
  bool is_zero = false;
  bool has_id = false;
  for (const RawMember& member : members) {
    if (member.key == "id") {
      has_id = true;
      if (member.value == "null") continue;
      SBX_TRY(out.id, read_id(member.value));
    } else if (member.key == "line") {
      const auto number = parse_count(member.value, INT64_MAX);
      if (number) out.line = static_cast<std::uint64_t>(*number);
    } else if (member.key == "status") {
      status = text_of(member.value);
    } else if (member.key == "exit_code") {
      is_zero = member.value == "0";
    } else if (member.key == "error" && member.value.starts_with('{')) {
      SBX_TRY(const std::vector<RawMember> parts, read_members(member.value));
      for (const RawMember& part : parts) {
        if (part.key == "code") out.error_code = text_of(part.value);
        if (part.key == "where") out.error_where = text_of(part.value);
        if (part.key == "message") out.error_message = text_of(part.value);
      }
    }
  }
  if (!has_id || status.empty()) {
    return Error{ErrorCode::kMissingField, "a result has an id and a status",
                 has_id ? "/status" : "/id", "name a file that sbx-run batch wrote"};
  }
  out.ending = ending_of(status, is_zero);
  return out;
}

std::string result_line(std::string_view id, std::string_view result) {
  std::string text;
  text.reserve(result.size() + id.size() + 16);
  JsonWriter json(text);
  json.begin_object();
  json.key("id");
  json.string(id);
  return text + "," + std::string(result.substr(1));
}

std::string error_line_of(const std::optional<std::string>& id, std::uint64_t line,
                          const Error& error) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("id");
  if (id) {
    json.string(*id);
  } else {
    json.null();
  }
  if (line != 0) {
    json.key("line");
    json.count(line);
  }
  return text + "," + outcome_to_json(error_outcome(error)).substr(1);
}

bool can_pass(std::string_view error_code) {
  static constexpr std::array kPassing = {
      ErrorCode::kPathNotFound, ErrorCode::kCwdNotVisible,    ErrorCode::kLayerUnavailable,
      ErrorCode::kSetupFailed,  ErrorCode::kOutputUnwritable, ErrorCode::kSpillFailed,
      ErrorCode::kTooMany,      ErrorCode::kSessionFailed,    ErrorCode::kInternal};
  return std::any_of(kPassing.begin(), kPassing.end(),
                     [&](ErrorCode code) { return error_name(code) == error_code; });
}

}  // namespace sbx::batch
