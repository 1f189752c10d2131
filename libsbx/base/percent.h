// SPDX-License-Identifier: Apache-2.0
// Percent-encoding (RFC 3986, 2.1): %XX ⇄ bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sbx {

// The byte of the escape that starts at `at`; nullopt where none does.
std::optional<char> escape_at(std::string_view text, std::size_t at);

// What is no escape stays.
std::string percent_decoded(std::string_view text);

// All but unreserved characters and those of `kept`.
std::string percent_encoded(std::string_view text, std::string_view kept = {},
                            bool is_upper_case = true);

}  // namespace sbx
