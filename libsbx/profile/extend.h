// SPDX-License-Identifier: Apache-2.0
// A parent's document and a child's → the child's document with everything inherited. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace sbx {

// Objects merge key by key, lists and everything else replace, "+key" appends to the parent's
// list. `name`, `description`, `extends` and `$schema` are not inherited. Both have passed
// check_fields. The one error: "+key" where the parent says null, that is, everything.
std::vector<Error> extend_document(nlohmann::json& parent, nlohmann::json child);

}  // namespace sbx
