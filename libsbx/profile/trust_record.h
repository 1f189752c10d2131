// SPDX-License-Identifier: Apache-2.0
// What is trusted ⇄ the bytes in which it is written down: entries of TrustedFiles, each ended by a
// NUL, since paths are bytes. Pure.
#pragma once

#include <string>
#include <string_view>

#include "profile/store.h"

namespace sbx {

std::string trust_record(const TrustedFiles& files);

// Empty where the bytes are none that trust_record() writes: such a record trusts for nobody.
TrustedFiles parse_trust_record(std::string_view bytes);

}  // namespace sbx
