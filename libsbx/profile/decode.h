// SPDX-License-Identifier: Apache-2.0
// Checked JSON → Profile, and Profile → JSON. Pure; errors were found by check.h before.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "profile/profile.h"

namespace sbx {

// `document` has passed check_fields with kProfileSpec, and its lists no longer have "+key" forms.
// Absent keys leave what Profile's own initializers say.
Profile decode_profile(const nlohmann::json& document);

// Every key with its value, in the order of the contract; decodes to the same profile. Indented by
// `indent` spaces, on one line where it is negative.
std::string profile_to_json(const Profile& profile, int indent = -1);

}  // namespace sbx
