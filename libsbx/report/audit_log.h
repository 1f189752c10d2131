// SPDX-License-Identifier: Apache-2.0
// The audit log of a run or a session: opened before a command starts, one line at each end.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host_files/append_file.h"
#include "model/outcome.h"
#include "policy/policy.h"

namespace sbx {

class Audit {
 public:
  // Nothing is logged where the policy names no file. `session` is its name, or empty.
  // Errors: kOutputUnwritable.
  static Result<Audit> open(const Policy& policy, std::string session = {});

  // Adds the line. Where that fails, the outcome's error says so, unless it has one.
  void record(Outcome& outcome);

 private:
  std::vector<AppendFile> files_;  // the policy's own, and those that it is held to
  std::string session_;
  std::string profile_sha256_;
};

}  // namespace sbx
