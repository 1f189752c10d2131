// SPDX-License-Identifier: Apache-2.0
// Names of the verdicts.
#include "model/finding.h"

namespace sbx {

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllow:
      return "allow";
    case Verdict::kAsk:
      return "ask";
    case Verdict::kDeny:
      break;
  }
  return "deny";
}

}  // namespace sbx
