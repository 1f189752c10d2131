// SPDX-License-Identifier: Apache-2.0
// Checked JSON → Profile, and Profile → JSON. Pure; errors of form were found by check.h before.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "profile/profile.h"

namespace sbx {

// Lays a document over its parent: objects merge key by key, lists replace, "+key" appends. Name
// and description are the document's own. `document` has passed check_fields with kProfileSpec.
// Errors: kBadValue, with the pointer of a "+key" whose list is null.
std::vector<Error> apply_document(const nlohmann::json& document, Profile& profile);

// The last step, after the last document: paths in one form, and the pointers of roots and
// protected paths.
void settle(Profile& profile);

// Every key with its value, in the order of the table; decodes to the same profile. Indented by
// `indent` spaces, on one line where it is negative.
std::string profile_to_json(const Profile& profile, int indent = -1);

// The section alone, as its own process reads it (http/).
std::string network_to_json(const NetworkProfile& network);

}  // namespace sbx
