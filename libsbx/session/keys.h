// SPDX-License-Identifier: Apache-2.0
// Names of keys → the bytes that a terminal of the type xterm-256color sends for them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sbx {

// "Up Escape F1 C-c M-x S-Tab a": names with blanks between them; C-, M- and S- before a name are
// Ctrl, Alt and Shift; one character stands for itself. `has_application_cursor`: the program has
// asked for the other form of the cursor keys. Errors: kBadValue.
Result<std::string> key_bytes(std::string_view names, bool has_application_cursor);

}  // namespace sbx
