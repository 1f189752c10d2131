// SPDX-License-Identifier: Apache-2.0
// The port of names. The resolver inside has it, at every address, and no entry changes that.
#pragma once

#include <cstdint>
#include <string_view>

namespace sbx {

inline constexpr std::uint16_t kDnsPort = 53;
inline constexpr std::string_view kDnsPortReason = ": port 53 is the sandbox's own resolver's";

}  // namespace sbx
