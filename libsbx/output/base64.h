// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648, standard alphabet, padded). Values only.
#pragma once

#include <string>
#include <string_view>

namespace sbx {

std::string base64_encode(std::string_view bytes);

}  // namespace sbx
