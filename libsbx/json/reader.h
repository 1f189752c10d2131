// SPDX-License-Identifier: Apache-2.0
// Bytes → JSON, strictly: duplicate keys, deep nesting, oversized text, ill-formed UTF-8 and
// numbers that no 64-bit value holds are errors. Knows no field names; touches no files.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sbx {

struct JsonBounds {
  std::size_t max_bytes = std::size_t{16} << 20;
  std::size_t max_depth = 64;  // containers within containers; a bare number has depth 0
};

// Whole numbers stay int64 (uint64 above its range), fractions stay double. Errors: kTooLarge,
// kBadJson (line, column and byte in the message), kTooDeep, kDuplicateKey and kOutOfRange (all
// three with the JSON pointer of the place in `where`).
Result<nlohmann::json> read_json_strict(std::string_view bytes, const JsonBounds& bounds = {});

// A text of our own, or one that has been read strictly before: discarded where it is no JSON.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);

// Gives `change` the strings of a valid text that hold a \uNNNN, with their escapes read; those
// that it has changed are written anew.
void change_escaped_strings(std::string& json,
                            const std::function<void(const std::vector<std::string*>&)>& change);

// {"code","message","where","hint"}, as we write an error; `otherwise` stands for a code that is
// none of ours.
Error read_error(const nlohmann::json& written, ErrorCode otherwise);

// Adds "/key" to an RFC 6901 pointer, with ~ and / escaped.
void append_to_pointer(std::string& pointer, std::string_view key);

}  // namespace sbx
