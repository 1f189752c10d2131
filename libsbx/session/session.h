// SPDX-License-Identifier: Apache-2.0
// Session: one profile, one workspace, and the runs and tasks in it, on one thread. Driven from
// outside: poll poll_fd() for reading until deadline(), then step().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/facts.h"
#include "policy/environment.h"
#include "policy/policy.h"
#include "session/outcome.h"

namespace sbx {

struct SessionOptions {
  std::string name;  // empty: one without a name
  Policy policy;
  HostFacts facts;             // quick facts
  Environment inherited;       // the operator's environment
  bool own_workspace = false;  // made for this session: cleared by reset, removed at the end
  int owner_pidfd = -1;        // everything ends with this process; -1: none
};

}  // namespace sbx
