// SPDX-License-Identifier: Apache-2.0
// The one table of a profile's keys: name, description, kind, range, names, form, member. The
// check, the schema, the decoder, the printing, the digests and the tests walk it.
#pragma once

#include <array>
#include <string_view>

#include "json/field.h"

namespace sbx {

inline constexpr std::int64_t kWeekMs = std::int64_t{7} * 86'400'000;  // no time limit is longer

// Names of enumerators, in their order in profile.h.
inline constexpr auto kBaseNames =
    std::to_array<std::string_view>({"system", "tools", "host", "none"});
inline constexpr auto kAccessNames = std::to_array<std::string_view>({"none", "ro", "rw"});
inline constexpr auto kHomeNames = std::to_array<std::string_view>({"private", "none", "host"});
inline constexpr auto kReplacedNames =
    std::to_array<std::string_view>({"restore", "stop", "report"});
inline constexpr auto kNetworkNames =
    std::to_array<std::string_view>({"none", "allowlist", "outbound", "open"});
inline constexpr auto kSeccompNames = std::to_array<std::string_view>({"default", "strict", "off"});
inline constexpr auto kLandlockNames = std::to_array<std::string_view>({"require", "auto", "off"});
inline constexpr auto kFallbackNames = std::to_array<std::string_view>({"refuse", "degrade"});
inline constexpr auto kScrubNames = std::to_array<std::string_view>({"off", "default", "strict"});
inline constexpr auto kWorkspaceNames = std::to_array<std::string_view>({"persistent", "fresh"});
inline constexpr auto kMissingNames = std::to_array<std::string_view>({"refuse", "report"});

extern const ObjectSpec kProfileSpec;

// The same rows by what they are about: those of the parts of profile.h.
extern const ObjectSpec kSandboxProfileSpec;
extern const ObjectSpec kRunProfileSpec;
extern const ObjectSpec kSandboxLimitsSpec;
extern const ObjectSpec kRunLimitsSpec;

}  // namespace sbx
