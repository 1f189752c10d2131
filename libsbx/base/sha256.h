// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for digests of profiles and approvals. Not for passwords or signatures.
#pragma once

#include <string>
#include <string_view>

namespace sbx {

// 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace sbx
