// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648, standard alphabet, padded). Values only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sbx {

std::string base64_encode(std::string_view bytes);

// nullopt for anything that base64_encode does not write: other letters, white space, missing
// padding, bits that are not zero in the last letter.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace sbx
