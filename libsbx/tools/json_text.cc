// SPDX-License-Identifier: Apache-2.0
// nlohmann_json escapes C0 only.
#include "tools/json_text.h"

#include <nlohmann/json.hpp>

#include "json/writer.h"

namespace sbx {

using nlohmann::ordered_json;

std::string json_text(const ordered_json& value) {
  return foreign_json(value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace sbx
