// SPDX-License-Identifier: Apache-2.0
// A JSON document against its spec: every breach at once, each with its RFC 6901 pointer and,
// where a slip of the hand is likely, the nearest known name. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "json/field.h"

namespace sbx {

// At most 100 errors; `pointer` is put before each `where` ("" for a whole document).
// Codes: kUnknownField, kMissingField, kWrongType, kOutOfRange, kBadValue.
std::vector<Error> check_fields(const nlohmann::json& document, const ObjectSpec& spec,
                                const std::string& pointer);

// The value of a whole number that fits in int64; 1.0 and 2e3 are whole, as in JSON Schema.
std::optional<std::int64_t> whole_number(const nlohmann::json& value);

}  // namespace sbx
