// SPDX-License-Identifier: Apache-2.0
#include "rpc/layer_patch.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "json/reader.h"
#include "run/redaction.h"
#include "tools/json_text.h"

namespace sbx {
namespace {

// The patch once more, without the mark that each line begins with: what is known by the begin of a
// line, as a file has it.
void redact_lines(const RedactionInput& redaction, std::string& patch) {
  std::string marks;
  std::string lines;
  for (const std::string_view line : split(patch, '\n')) {
    marks += line.empty() ? '\0' : line.front();
    (lines += line.substr(line.empty() ? 0 : 1)) += '\n';
  }
  const std::string before = lines;
  redact_texts(redaction, {&lines});
  if (lines == before) return;
  std::vector<std::string_view> safe = split(lines, '\n');
  if (safe.size() != marks.size() + 1) {  // a key of several lines: no patch any more
    patch = std::move(lines);
    return;
  }
  safe.pop_back();
  std::string out;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    if (i > 0) out += '\n';
    if (marks[i] != '\0') out += marks[i];
    out += safe[i];
  }
  patch = std::move(out);
}

}  // namespace

Result<LayerAnswer> redact_patch(const RedactionInput& redaction, const LayerAnswer& answer) {
  if (answer.status != 0) return answer;
  nlohmann::ordered_json told = parse_ordered_json(answer.text);
  if (!told.is_object() || !told["changes"].is_array() || !told["patch"].is_string()) {
    return Error{ErrorCode::kInternal, "sbx-layer gave no patch", "layer", ""};
  }
  auto& patch = told["patch"].get_ref<std::string&>();
  std::vector<std::string*> texts = {&patch};
  for (auto& change : told["changes"]) texts.push_back(&change["path"].get_ref<std::string&>());
  redact_texts(redaction, texts);
  redact_lines(redaction, patch);
  return LayerAnswer{json_text(told), answer.status};
}

}  // namespace sbx
