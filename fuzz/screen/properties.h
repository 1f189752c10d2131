// SPDX-License-Identifier: Apache-2.0
// What must hold of sbx-screen's parts for any bytes.
#pragma once

#include <string_view>

namespace sbx {

// The text has a row a line and no other control bytes.
bool screen_holds(std::string_view bytes);
// Frames that are read whole fit their bound, however the bytes are cut.
bool frames_hold(std::string_view bytes);

}  // namespace sbx
