// SPDX-License-Identifier: Apache-2.0
// The table of keys as a schema, with the defaults that are shipped.
#include "profile/schema.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "json/reader.h"
#include "json/schema.h"
#include "profile/fields.h"
#include "profile/shipped.h"

namespace sbx {

using nlohmann::json;
using nlohmann::ordered_json;

std::string profile_schema_json() {
  auto defaults = read_json_strict(shipped_text("default").value_or("{}"));
  json values = defaults.ok() ? std::move(defaults).value() : json::object();
  for (const char* own : {"name", "description"}) values.erase(own);
  ordered_json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                         {"title", "sbx profile"},
                         {"description", "What an operator grants to sandboxed commands."}};
  schema.update(object_schema(kProfileSpec, values));
  return schema.dump(2) + "\n";
}

}  // namespace sbx
