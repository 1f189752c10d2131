// SPDX-License-Identifier: Apache-2.0
// A stack of the program's own, where the caller's limit (ulimit -s) leaves too little. The limit
// itself is not touched: the command has it as its caller set it.
#pragma once

namespace sbx {

// Calls `body`, which must not return, on a stack that is large enough.
[[noreturn]] void run_on_enough_stack(void (*body)());

}  // namespace sbx
