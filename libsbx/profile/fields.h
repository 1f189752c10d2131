// SPDX-License-Identifier: Apache-2.0
// The one table of a profile's keys: name, description, kind, range, names, form, member. The
// check, the schema, the decoder, the printing, the digests and the tests walk it.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "json/field.h"
#include "profile/profile.h"

namespace sbx {

inline constexpr std::int64_t kWeekMs = std::int64_t{7} * 86'400'000;  // no time limit is longer
inline constexpr std::int64_t kMostOpenFiles = 1'048'576;              // Linux's fs.nr_open

extern const ObjectSpec kProfileSpec;

// The same rows by what they are about: those of the parts of profile.h.
extern const ObjectSpec kSandboxProfileSpec;
extern const ObjectSpec kRunProfileSpec;
extern const ObjectSpec kNetworkSpec;
extern const ObjectSpec kSandboxLimitsSpec;
extern const ObjectSpec kRunLimitsSpec;

extern const ObjectSpec kManagedSpec;  // of a file of the managed policy, see managed.h

// The highest value of a limit of `limits`, by its key.
std::int64_t most_of_limit(std::string_view key);

// Each limit that is above `most`, or missing where that is none at all, becomes it; their names.
std::vector<std::string_view> lower_limits(const LimitsProfile& most, LimitsProfile& limits,
                                           bool missing_is_none);

// Each limit that `set` has replaces the one there.
void lay_over(const LimitsProfile& set, LimitsProfile& limits);

}  // namespace sbx
