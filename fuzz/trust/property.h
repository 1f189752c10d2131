// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sbx {

// Any bytes → what a user has trusted: what is read is what would be written, and every entry is a
// digest and an absolute path. Aborts where that does not hold.
void check_trust_record(std::string_view bytes);

}  // namespace sbx
