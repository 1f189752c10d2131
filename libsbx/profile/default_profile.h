// SPDX-License-Identifier: Apache-2.0
// The shipped profile `default`, decoded. Every launch that names no other begins with it, and
// reading its JSON was a third of what such a launch did by itself.
#pragma once

#include <string>

#include "profile/profile.h"

namespace sbx {

// What profiles/default.json says: a test holds the two against each other.
// Its limits.memory_mb, in whatever profile, stands for half of the machine's memory where that is
// less.
Profile default_profile();
// And the preset that it extends.
Profile default_profile(std::string& parent);

}  // namespace sbx
