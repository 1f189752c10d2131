// SPDX-License-Identifier: Apache-2.0
// A document that stands alone → its profile.
#pragma once

#include "profile/decode.h"

namespace sbx {

// Absent keys leave what Profile's own initializers say.
inline Profile decode_profile(const nlohmann::json& document) {
  Profile profile;
  apply_document(document, profile);
  settle(profile);
  return profile;
}

}  // namespace sbx
