// SPDX-License-Identifier: Apache-2.0
// The params of `run` and `start`: JSON → Request, strictly, from the one table that the request's
// schema is printed from. Looks at no policy and touches no files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/field.h"
#include "policy/fields.h"
#include "policy/policy.h"

namespace sbx {

// Of a document that read_params() has made; null is absent. Errors: those of check_fields(),
// kMissingField for neither command nor argv, kBadValue for both of two that exclude each other.
// `where` is a JSON pointer behind `pointer`; of several errors the first in the order of the
// table's keys is answered. `beside`: what may stand beside a request's own members, checked with
// them and left to the caller.
Result<Request> decode_request(const nlohmann::json& params, const std::string& pointer = "",
                               std::span<const FieldSpec> beside = {});

// `text` as JSON within the bounds of a request: 16 MiB, 64 levels.
Result<nlohmann::json> read_params(std::string_view text);

// The value of a key that is there and not null; nullptr for any other.
const nlohmann::json* present(const nlohmann::json& object, const char* key);

// {"type": "object", …} with $schema. `beside`: as above.
nlohmann::ordered_json request_schema(std::span<const FieldSpec> beside);

}  // namespace sbx
