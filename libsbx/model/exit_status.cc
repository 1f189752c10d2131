// SPDX-License-Identifier: Apache-2.0
// The names are glibc's, and those of the real-time signals, which it has none for.
#include "model/exit_status.h"

#include <csignal>
#include <cstring>

namespace sbx {

std::string signal_name(int number) {
  if (number == SIGRTMIN) return "SIGRTMIN";
  if (number > SIGRTMIN && number <= SIGRTMAX) {
    return "SIGRTMIN+" + std::to_string(number - SIGRTMIN);
  }
  const char* abbreviation = sigabbrev_np(number);
  return "SIG" + (abbreviation != nullptr ? std::string(abbreviation) : std::to_string(number));
}

std::optional<int> signal_number(std::string_view name) {
  for (int number = 1; number < NSIG; ++number) {
    if (signal_name(number) == name) return number;
  }
  return std::nullopt;
}

int error_exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return 127;
    case ErrorCode::kNotExecutable:
    case ErrorCode::kDenied:
      return 126;
    case ErrorCode::kNeedsApproval:
      return 3;
    default:
      return 125;
  }
}

int exit_status(const End& end) {
  if (end.exit_code) return *end.exit_code;
  if (end.status == "timed_out") return 124;
  if (end.status == "denied") return error_exit_status(ErrorCode::kDenied);
  if (end.status == "needs_approval") return error_exit_status(ErrorCode::kNeedsApproval);
  if (end.status == "error") return error_exit_status(end.error);
  if (end.signal) return 128 + *end.signal;
  return 128 + (end.status == "cancelled" ? end.cancelled_by : SIGKILL);
}

}  // namespace sbx
