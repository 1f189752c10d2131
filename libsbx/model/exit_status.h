// SPDX-License-Identifier: Apache-2.0
// Signals by name, and the number that a command's end stands for: the one table for results, the
// command line and the tools.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sbx {

// "SIGSEGV", "SIGRTMIN+1"; "SIG" and the number for one without a name.
std::string signal_name(int number);
// What signal_name() gave; nullopt for anything else.
std::optional<int> signal_number(std::string_view name);

// What sbx-run exits with when nothing ran: 127, 126, 3 or 125.
int error_exit_status(ErrorCode code);

// What a result says, as it is read back from its JSON.
struct End {
  std::string_view status;
  std::optional<int> exit_code;
  std::optional<int> signal;
  ErrorCode error = ErrorCode::kInternal;  // where status is "error"
  int cancelled_by = 2;                    // SIGINT, where nothing tells which signal it was
};
// The command's own, 128+N, 124, 126, 3, 127, 125.
int exit_status(const End& end);

}  // namespace sbx
