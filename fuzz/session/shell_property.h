// SPDX-License-Identifier: Apache-2.0
// What holds of every text that a kept shell says, or is made to run, and of every name of a key.
#pragma once

#include <string_view>

namespace sbx {

bool shell_holds(std::string_view bytes);
bool keys_hold(std::string_view bytes);

}  // namespace sbx
