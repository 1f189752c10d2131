// SPDX-License-Identifier: Apache-2.0
// Specs → JSON Schema (draft-07), for editors and for clients. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "json/field.h"

namespace sbx {

// {"type": "object", …}, without $schema. `defaults` is an object of default values by key, or
// null.
nlohmann::ordered_json object_schema(const ObjectSpec& spec, const nlohmann::json& defaults);

}  // namespace sbx
