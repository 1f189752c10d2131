// SPDX-License-Identifier: Apache-2.0
// What a plan says of itself for the answer: which limit is held by what, and what could not be
// had.
#pragma once

#include <string>

namespace sbx {

struct Degradation {
  std::string what;  // a layer, a limit or a part such as "proc"
  std::string reason;
};

struct LimitReport {
  std::string limit;     // timeout, cpu, memory, pids, open_files, file, tmp, output
  std::string enforcer;  // cgroup2 | rlimit | watch | none
};

}  // namespace sbx
