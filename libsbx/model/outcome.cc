// SPDX-License-Identifier: Apache-2.0
// The names of the statuses.
#include "model/outcome.h"

namespace sbx {

const char* run_status_name(RunStatus status) {
  switch (status) {
    case RunStatus::kExited:
      return "exited";
    case RunStatus::kSignaled:
      return "signaled";
    case RunStatus::kTimedOut:
      return "timed_out";
    case RunStatus::kLimit:
      return "limit";
    case RunStatus::kCancelled:
      return "cancelled";
    case RunStatus::kKilled:
      return "killed";
    case RunStatus::kRunning:
      return "running";
    case RunStatus::kDenied:
      return "denied";
    case RunStatus::kNeedsApproval:
      return "needs_approval";
    case RunStatus::kError:
      break;
  }
  return "error";
}

}  // namespace sbx
