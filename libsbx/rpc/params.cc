// SPDX-License-Identifier: Apache-2.0
// The table of a request's keys, the checks that no table says, and the carrying over.
#include "rpc/params.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "output/base64.h"
#include "profile/check.h"
#include "profile/forms.h"
#include "profile/json_reader.h"
#include "profile/schema.h"

// The end of the text in every engine, as in profile/forms.cc.
#define SBX_END R"((?![\s\S]))"

namespace sbx {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

bool is_command(std::string_view text) {
  return !text.empty() && text.find('\0') == std::string_view::npos;
}
bool is_octal_mode(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('0') ? 1 : 0);
  return digits.size() == 3 &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '7'; });
}
bool is_base64(std::string_view text) { return base64_decode(text).has_value(); }

constexpr TextForm kCommandForm = {is_command, R"(^[^\u0000]+)" SBX_END,
                                   "text without NUL, not empty"};
constexpr TextForm kModeForm = {is_octal_mode, "^0?[0-7]{3}" SBX_END,
                                "permission bits as an octal string, such as \"644\" or \"0755\""};
constexpr TextForm kBase64Form = {
    is_base64,
    "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)?" SBX_END,
    "base64 with the letters + and /, padded, in one line"};

constexpr ValueSpec or_null(ValueSpec spec) {
  spec.nullable = true;
  return spec;
}
constexpr ValueSpec optional_text(const TextForm* form) {
  return or_null({.kind = Kind::kText, .form = form});
}
constexpr ValueSpec optional_count(std::int64_t max) {
  return or_null({.kind = Kind::kCount, .min = 1, .max = max});
}
constexpr ValueSpec kOptionalFlag = or_null({.kind = Kind::kBool});

constexpr std::int64_t kMostOutputKb = 1'048'576;
constexpr std::int64_t kMostFileKb = std::int64_t{1} << 30;

constexpr ValueSpec kArgumentSpec = {.kind = Kind::kText, .form = &forms::kNoNul};
constexpr ValueSpec kValueSpec = {.kind = Kind::kText, .form = &forms::kNoNul};

constexpr auto kFileFields = std::to_array<FieldSpec>({
    {"path", "Where the file goes, relative to the workspace.", {.kind = Kind::kText}, true},
    {"content", "What the file holds, as text.", optional_text(nullptr)},
    {"content_base64", "What the file holds, as base64. Excludes content.",
     optional_text(&kBase64Form)},
    {"mode", "Permission bits as an octal string. Absent: 644.", optional_text(&kModeForm)},
});
constexpr ObjectSpec kFileObject = {kFileFields};
constexpr ValueSpec kFileSpec = {.kind = Kind::kObject, .object = &kFileObject};

constexpr auto kRequestFields = std::to_array<FieldSpec>({
    {"command", "The command line, run by the profile's shell. This or argv.",
     optional_text(&kCommandForm)},
    {"argv", "The program and its arguments, run without a shell. This or command.",
     or_null({.kind = Kind::kList, .item = &kArgumentSpec})},
    {"description", "A few words for the answer and the audit log.", optional_text(nullptr)},
    {"cwd", "The directory to start in, relative to the workspace. Absent: the workspace.",
     optional_text(&kCommandForm)},
    {"env",
     "Environment variables. The profile must allow them (environment.request); its own win.",
     or_null({.kind = Kind::kMap, .form = &forms::kEnvName, .item = &kValueSpec})},
    {"stdin", "What the command reads. Absent: nothing.", optional_text(nullptr)},
    {"timeout_ms", "Wall-clock time, in milliseconds, at most the ceiling.",
     optional_count(kWeekMs)},
    {"files", "Files to write into the workspace before the start: all of them, or none.",
     or_null({.kind = Kind::kList, .item = &kFileSpec})},
    {"network", "true: the command needs the profile's network; false: it gets none.",
     kOptionalFlag},
    {"output_kb", "Output that is kept, in KiB, at most the ceiling.",
     optional_count(kMostOutputKb)},
    {"file_kb", "Size of one written file, in KiB, at most the ceiling.",
     optional_count(kMostFileKb)},
    {"merge", "true: stdout and stderr as one, in the order written.", kOptionalFlag},
    {"approval", "The digest of an approval that was granted.", optional_text(nullptr)},
});

const std::string& text_of(const json& value) { return value.get_ref<const std::string&>(); }

void take_text(const json& object, const char* key, std::optional<std::string>& to) {
  if (const json* value = present(object, key)) to = text_of(*value);
}
void take_count(const json& object, const char* key, std::optional<std::int64_t>& to) {
  if (const json* value = present(object, key)) to = whole_number(*value);
}

Error not_both(const std::string& first, const std::string& second, const std::string& where) {
  return Error{ErrorCode::kBadValue, "\"" + first + "\" and \"" + second + "\" exclude each other",
               where + "/" + second, "remove one of the two"};
}

unsigned octal(std::string_view digits) {
  unsigned mode = 0;
  for (const char digit : digits) mode = mode << 3 | static_cast<unsigned>(digit - '0');
  return mode;
}

Result<RequestFile> decode_file(const json& params, const std::string& where) {
  RequestFile file;
  file.path = text_of(*present(params, "path"));
  const json* text = present(params, "content");
  const json* bytes = present(params, "content_base64");
  if (text != nullptr && bytes != nullptr) return not_both("content", "content_base64", where);
  if (text == nullptr && bytes == nullptr) {
    return Error{ErrorCode::kMissingField, "a file needs \"content\" or \"content_base64\"", where,
                 "an empty file has \"content\": \"\""};
  }
  file.content = text != nullptr ? text_of(*text) : base64_decode(text_of(*bytes)).value_or("");
  if (const json* mode = present(params, "mode")) file.mode = octal(text_of(*mode));
  return file;
}

Status take_program(const json& params, Request& request, const std::string& pointer) {
  const json* command = present(params, "command");
  const json* argv = present(params, "argv");
  if (command != nullptr && argv != nullptr) return not_both("command", "argv", pointer);
  if (command != nullptr) {
    request.command = text_of(*command);
    return {};
  }
  if (argv == nullptr) {
    return Error{ErrorCode::kMissingField, "there is no command to run", pointer + "/command",
                 "give \"command\" or \"argv\""};
  }
  request.argv = argv->get<std::vector<std::string>>();
  if (request.argv.empty() || request.argv.front().empty()) {
    return Error{ErrorCode::kBadValue, "must name a program first", pointer + "/argv",
                 R"(such as ["ls", "-l"])"};
  }
  request.command = display_arguments(request.argv);
  return {};
}

// In the order of the table, whatever the order of the document's keys: fields at the top by their
// position, what is unknown last.
const Error& first_error(const std::vector<Error>& errors, const std::string& pointer) {
  const auto rank = [&](const Error& error) {
    std::string_view name = error.where;
    name.remove_prefix(std::min(name.size(), pointer.size() + 1));
    name = name.substr(0, name.find('/'));
    const auto at = std::find_if(kRequestFields.begin(), kRequestFields.end(),
                                 [&](const FieldSpec& field) { return field.name == name; });
    return at - kRequestFields.begin();
  };
  return *std::min_element(errors.begin(), errors.end(),
                           [&](const Error& a, const Error& b) { return rank(a) < rank(b); });
}

}  // namespace

constexpr ObjectSpec kRequestSpec = {kRequestFields};

Result<json> read_params(std::string_view text) { return read_json_strict(text, JsonBounds{}); }

const json* present(const json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

Result<Request> parse_request(std::string_view params, const std::string& pointer) {
  SBX_TRY(const json document, read_params(params));
  return decode_request(document, pointer);
}

Result<Request> decode_request(const json& params, const std::string& pointer) {
  const std::vector<Error> errors = check_fields(params, kRequestSpec, pointer);
  if (!errors.empty()) return first_error(errors, pointer);
  Request request;
  SBX_CHECK_OK(take_program(params, request, pointer));
  take_text(params, "description", request.description);
  take_text(params, "cwd", request.cwd);
  if (const json* env = present(params, "env")) {
    request.env = env->get<std::map<std::string, std::string>>();
  }
  take_text(params, "stdin", request.stdin_text);
  take_count(params, "timeout_ms", request.timeout_ms);
  if (const json* files = present(params, "files")) {
    for (std::size_t i = 0; i < files->size(); ++i) {
      SBX_TRY(RequestFile file, decode_file((*files)[i], pointer + "/files/" + std::to_string(i)));
      request.files.push_back(std::move(file));
    }
  }
  if (const json* network = present(params, "network")) request.network = network->get<bool>();
  take_count(params, "output_kb", request.output_kb);
  take_count(params, "file_kb", request.file_kb);
  if (const json* merge = present(params, "merge")) request.merge = merge->get<bool>();
  if (const json* approval = present(params, "approval")) request.approval = text_of(*approval);
  return request;
}

std::string request_schema_json() {
  ordered_json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                         {"title", "sbx request"},
                         {"description", "The params of the methods run and start."}};
  schema.update(object_schema(kRequestSpec, json::object()));
  schema["not"] = {
      {"required", ordered_json::array({"command", "argv"})},
      {"properties", {{"command", {{"type", "string"}}}, {"argv", {{"type", "array"}}}}}};
  return schema.dump(2) + "\n";
}

}  // namespace sbx
