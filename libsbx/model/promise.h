// SPDX-License-Identifier: Apache-2.0
// What a plan says of itself for the answer: which limit is held by what, and what could not be
// had.
#pragma once

#include <string>

#include "model/limit.h"

namespace sbx {

struct Degradation {
  std::string what;  // a layer, a limit or a part such as "proc"
  std::string reason;
};

struct LimitReport {
  Limit limit;
  Enforcer enforcer;
};

}  // namespace sbx
