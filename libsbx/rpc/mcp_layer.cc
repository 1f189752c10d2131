// SPDX-License-Identifier: Apache-2.0
// sbx-layer's JSON → results of tools.
#include "rpc/mcp_layer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "base/text.h"
#include "json/reader.h"
#include "profile/forms.h"

namespace sbx {
namespace {

constexpr std::size_t kMostShown = 40;  // paths in a question

// Of sbx-layer's answers, and of layer_result()'s for those that failed.
constexpr std::string_view kAnswerSchema = R"({"type":"object","properties":{
"name":{"type":"string","description":"the layer's"},"kind":{"type":"string"},
"changes":{"type":["array","null"],"items":{"type":"object","properties":{
"path":{"type":"string"},"kind":{"type":"string","description":"created, modified, deleted …"}}}},
"patch":{"type":"string","description":"of layer_diff"},
"label":{"type":["string","null"],"description":"of layer_checkpoint"},
"committed":{"type":"array","items":{"type":"object"},"description":"of layer_commit: what is real now"},
"git_left_out":{"type":"integer","description":"changes that the patch leaves out, as git would"},
"dry_run":{"type":"boolean"},"warnings":{"type":"array","items":{"type":"string"}},
"error":{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"}}}}})";

McpJson definition(std::string_view name, const char* title, const char* description,
                   McpJson properties, bool is_read_only) {
  return {{"name", name},
          {"title", title},
          {"description", description},
          {"inputSchema",
           {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}}},
          {"outputSchema", parse_ordered_json(kAnswerSchema)},
          {"annotations",
           {{"title", title},
            {"readOnlyHint", is_read_only},
            {"destructiveHint", !is_read_only},
            {"openWorldHint", false}}}};
}

McpJson paths_schema() {
  return {{"paths",
           {{"type", "array"},
            {"items", {{"type", "string"}, {"minLength", 1}}},
            {"description", "Only these, relative to the workspace or absolute."}}}};
}

McpJson text_result(const std::string& text, McpJson structured, bool is_error) {
  return {{"content", McpJson::array({{{"type", "text"}, {"text", text}}})},
          {"structuredContent", std::move(structured)},
          {"isError", is_error}};
}

McpJson refused(std::string_view tool, const McpJson& error, const McpJson& changes = nullptr) {
  const std::string text =
      std::string(tool) + ": " + error.value("code", "") + ": " + error.value("message", "");
  return text_result(text, {{"error", error}, {"changes", changes}}, true);
}

}  // namespace

bool is_layer_tool(std::string_view name) {
  return name == kLayerDiffTool || name == kLayerCheckpointTool || name == kLayerCommitTool;
}

McpJson layer_tool_definitions() {
  return McpJson::array(
      {definition(kLayerDiffTool, "Layer diff",
                  "What the commands of this session have changed, as a patch. The real files are "
                  "still as they were.",
                  paths_schema(), true),
       definition(kLayerCheckpointTool, "Layer checkpoint",
                  "Marks what was changed so far as a point to come back to.",
                  {{"label", {{"type", "string"}, {"pattern", forms::kLabel.pattern}}}}, false),
       definition(kLayerCommitTool, "Layer commit",
                  "Makes the changes real. The user is asked first, and may decline.",
                  paths_schema(), false)});
}

Result<LayerToolCall> read_layer_call(std::string_view tool, std::string_view arguments) {
  const nlohmann::json given = parse_json(arguments);
  LayerToolCall call;
  for (const auto& [key, value] : given.items()) {
    const bool takes_paths = tool != kLayerCheckpointTool;
    const bool is_known = key == (takes_paths ? "paths" : "label");
    if (is_known && (value.is_null() || value == "")) continue;  // models send them
    if (takes_paths && key == "paths" && value.is_array() &&
        std::all_of(value.begin(), value.end(), [](const auto& path) {
          return path.is_string() && !path.template get_ref<const std::string&>().empty();
        })) {
      call.paths = value.get<std::vector<std::string>>();
    } else if (!takes_paths && key == "label" && value.is_string()) {
      call.label = value.get<std::string>();
      if (forms::kLabel.matches(call.label)) continue;
      return Error{ErrorCode::kBadValue, std::string("must be ") + forms::kLabel.expected, "/label",
                   ""};
    } else {
      return Error{is_known ? ErrorCode::kWrongType : ErrorCode::kUnknownField,
                   is_known ? "has another type than the schema asks for" : "is not known",
                   "/" + escape_control_bytes(key.substr(0, 100)),
                   takes_paths ? "paths is an array of texts" : "label is a text"};
    }
  }
  return call;
}

std::string changes_digest(std::string_view diff) { return sha256_hex(diff); }

bool changes_nothing(std::string_view diff) {
  const nlohmann::json told = parse_json(diff);
  return told.is_object() && told.value("changes", nlohmann::json::array()).empty();
}

McpJson commit_question(std::string_view diff) {
  const nlohmann::json told = parse_json(diff);
  std::string message = "Make these changes real?\n";
  const auto changes = told.is_object() ? told.find("changes") : told.end();
  if (told.is_object() && changes != told.end() && changes->is_array()) {
    std::size_t shown = 0;
    for (const auto& change : *changes) {
      if (++shown > kMostShown) break;
      message +=
          "\n" + change.value("kind", "") + " " + escape_control_bytes(change.value("path", ""));
    }
    if (changes->size() > kMostShown) {
      message += "\nand " + std::to_string(changes->size() - kMostShown) + " more";
    }
  }
  return {{"message", message},
          {"requestedSchema", {{"type", "object"}, {"properties", McpJson::object()}}}};
}

McpJson layer_result(std::string_view tool, const Result<LayerAnswer>& answer) {
  if (!answer.ok()) {
    const Error& error = answer.error();
    return refused(tool, {{"code", error_name(error.code)},
                          {"message", error.message},
                          {"where", error.where},
                          {"hint", error.hint}});
  }
  McpJson told = parse_ordered_json(answer.value().text);
  if (!told.is_object()) {
    return layer_result(tool, Error{ErrorCode::kSetupFailed, "sbx-layer gave no answer", "", ""});
  }
  if (answer.value().status != 0) {
    return refused(tool, told.value("error", McpJson::object()), told.value("changes", McpJson()));
  }
  const auto patch = told.find("patch");
  const std::string text =
      patch != told.end() && patch->is_string() ? patch->get<std::string>() : told.dump();
  return text_result(text, std::move(told), false);
}

}  // namespace sbx
