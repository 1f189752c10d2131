// SPDX-License-Identifier: Apache-2.0
// Tables of params, and the carrying over.
#include "rpc/method_params.h"

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "json/check.h"
#include "json/reader.h"
#include "profile/fields.h"
#include "rpc/params.h"

namespace sbx {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostGraceMs = 600'000;

bool is_not_empty(std::string_view text) { return !text.empty(); }
constexpr TextForm kNotEmpty = {is_not_empty, R"(^[\s\S])", "text that is not empty"};

constexpr ValueSpec kText = {.kind = Kind::kText, .form = &kNotEmpty};
constexpr ValueSpec kOptionalText = {.kind = Kind::kText, .nullable = true, .form = &kNotEmpty};
constexpr ValueSpec kInput = {.kind = Kind::kText, .nullable = true};
constexpr ValueSpec kFlag = {.kind = Kind::kBool, .nullable = true};
constexpr ValueSpec kTime = {.kind = Kind::kCount, .nullable = true, .min = 1, .max = kWeekMs};
constexpr ValueSpec kGrace = {
    .kind = Kind::kCount, .nullable = true, .min = 1, .max = kMostGraceMs};
constexpr ValueSpec kOffset = {.kind = Kind::kCount, .nullable = true, .min = 0, .max = INT64_MAX};

constexpr FieldSpec kTask = {"task_id", "Which task.", kText, true};
constexpr FieldSpec kFollow = {"follow", "Send what is written later as notifications.", kFlag};
constexpr FieldSpec kMatch = {
    "match", "Send only whole lines that match this RE2 expression, as task.match.", kOptionalText};
constexpr FieldSpec kGraceField = {
    "grace_ms", "Between SIGTERM and SIGKILL, in milliseconds. Absent: 2000.", kGrace};

constexpr std::array kStatusFields = {
    FieldSpec{"task_id", "Which task. Absent: all of them.", kOptionalText}};
constexpr std::array kOutputFields = {
    kTask, FieldSpec{"since", "The \"next\" of the answer before.", kOffset}, kFollow,
    FieldSpec{"replay", "true, with follow: what there is comes as notifications too.", kFlag},
    kMatch};
constexpr std::array kStdinFields = {
    kTask, FieldSpec{"text", "What the task shall read.", kInput},
    FieldSpec{"close", "true: end of file after the text.", kFlag}};
constexpr std::array kWaitFields = {
    kTask,
    FieldSpec{"timeout_ms", "How long to wait, in milliseconds. Absent: to the end.", kTime}};
constexpr std::array kKillFields = {kTask, kGraceField};
constexpr std::array kResetFields = {kGraceField};
constexpr std::array kToolFields = {FieldSpec{"name", "Which tool.", kText, true}};
constexpr std::array kApproveFields = {
    FieldSpec{"digest", "Of an answer with status needs_approval.", kText, true}};

constexpr ObjectSpec kStatusSpec = {kStatusFields};
constexpr ObjectSpec kOutputSpec = {kOutputFields};
constexpr ObjectSpec kStdinSpec = {kStdinFields};
constexpr ObjectSpec kWaitSpec = {kWaitFields};
constexpr ObjectSpec kKillSpec = {kKillFields};
constexpr ObjectSpec kResetSpec = {kResetFields};
constexpr ObjectSpec kToolSpec = {kToolFields};
constexpr ObjectSpec kApproveSpec = {kApproveFields};
constexpr ObjectSpec kNoSpec = {};

void take(const json& object, const char* key, std::string& to) {
  if (const json* value = present(object, key)) to = value->get_ref<const std::string&>();
}
void take(const json& object, const char* key, std::optional<bool>& to) {
  if (const json* value = present(object, key)) to = value->get<bool>();
}
void take(const json& object, const char* key, std::optional<std::int64_t>& to) {
  if (const json* value = present(object, key)) to = whole_number(*value);
}

}  // namespace

const ObjectSpec* method_spec(std::string_view method) {
  static const std::map<std::string_view, const ObjectSpec*> kSpecs = {
      {"status", &kStatusSpec}, {"output", &kOutputSpec},   {"stdin", &kStdinSpec},
      {"wait", &kWaitSpec},     {"kill", &kKillSpec},       {"list", &kNoSpec},
      {"reset", &kResetSpec},   {"approve", &kApproveSpec}, {"shutdown", &kResetSpec},
  };
  const auto found = kSpecs.find(method);
  return found == kSpecs.end() ? nullptr : found->second;
}

Result<MethodParams> decode_method_params(const json& params, const ObjectSpec& spec) {
  const std::vector<Error> errors = check_fields(params, spec, "");
  if (!errors.empty()) return errors.front();
  MethodParams out;
  take(params, "task_id", out.task_id);
  std::optional<std::int64_t> since;
  take(params, "since", since);
  out.since = static_cast<std::uint64_t>(since.value_or(0));
  take(params, "follow", out.follow);
  take(params, "replay", out.replay);
  take(params, "match", out.match);
  take(params, "text", out.text);
  std::optional<bool> close;
  take(params, "close", close);
  out.close = close.value_or(false);
  take(params, "timeout_ms", out.timeout_ms);
  take(params, "grace_ms", out.grace_ms);
  take(params, "digest", out.digest);
  take(params, "name", out.name);
  return out;
}

Result<MethodParams> take_follower_params(json& params, bool is_task) {
  static constexpr std::array kOfTask = {kFollow, kMatch};
  static constexpr std::array kOfRun = {
      FieldSpec{"stream", "Send what is written as notifications.", kFlag}};
  json own = json::object();
  if (!params.is_object()) return MethodParams{};  // said by who decodes the rest
  for (const char* key : {"follow", "match", "stream"}) {
    const bool is_own = is_task != (std::string_view(key) == "stream");
    const auto found = params.find(key);
    if (!is_own || found == params.end()) continue;
    own[key] = std::move(*found);
    params.erase(found);
  }
  SBX_TRY(MethodParams out,
          decode_method_params(own, is_task ? ObjectSpec{kOfTask} : ObjectSpec{kOfRun}));
  take(own, "stream", out.stream);
  return out;
}

Result<MethodParams> decode_tool_params(json params) {
  json inner = json::object();
  if (params.is_object() && present(params, "params") != nullptr) inner = params.at("params");
  if (params.is_object()) params.erase("params");
  SBX_TRY(MethodParams out, decode_method_params(params, kToolSpec));
  if (!inner.is_object()) {
    return Error{ErrorCode::kWrongType, "must be an object", "/params", "such as {}"};
  }
  out.params = inner.dump();
  return out;
}

Result<std::string> decode_cancel_params(const json& params) {
  const json* id = params.is_object() ? present(params, "id") : nullptr;
  if (id == nullptr || params.size() != 1 || !(id->is_string() || id->is_number())) {
    return Error{ErrorCode::kBadValue, "must be the id of a request, and nothing else", "/id",
                 R"(such as {"id": 7})"};
  }
  return id->dump();
}

std::string normal_id(std::string_view json_text) {
  const Result<json> id = read_json_strict(json_text);
  if (id.ok()) return id.value().dump();
  // A number that is too long to be read is compared as it was written.
  return id.error().code == ErrorCode::kOutOfRange ? std::string(json_text) : std::string();
}

}  // namespace sbx
