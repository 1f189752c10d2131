// SPDX-License-Identifier: Apache-2.0
#include "rpc/layer_patch.h"

#include <nlohmann/json.hpp>

#include "json/reader.h"
#include "json/writer.h"
#include "report/json_parts.h"

namespace sbx {

// The patch is the last member. Within a text of the answer's no quote stands unescaped.
Result<LayerAnswer> redact_patch(const Service& service, const Result<LayerAnswer>& answer) {
  if (!answer.ok() || answer.value().status != 0) return answer;
  LayerAnswer shown = answer.value();
  const nlohmann::json told = parse_json(shown.text);
  const auto patch = told.is_object() ? told.find("patch") : told.end();
  const std::size_t at = shown.text.rfind(R"("patch":")");
  if (patch == told.end() || !patch->is_string() || at == std::string::npos) {
    return Error{ErrorCode::kInternal, "sbx-layer gave no patch", "layer", ""};
  }
  SBX_TRY(const std::string safe, service.redacted(patch->get_ref<const std::string&>()));
  shown.text.resize(at);
  JsonWriter json(shown.text);
  write_member(json, "patch", safe);
  json.end_object();
  return shown;
}

}  // namespace sbx
