// SPDX-License-Identifier: Apache-2.0
// The audit log of a run, a session or an action on a layer: opened before it starts, one line at
// each end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host_files/append_file.h"
#include "model/outcome.h"
#include "policy/policy.h"

namespace sbx {

// Where lines go, and what each of them says.
struct AuditPlace {
  std::vector<std::string> files;  // the policy's own, and those that it is held to
  std::string session;             // its name, or empty
  std::string profile_sha256;
};
AuditPlace audit_place(const Policy& policy, std::string session = {});

// What was done with a layer, or to the workspace from one.
struct LayerEvent {
  std::string workspace;
  std::string profile;
  std::vector<ManagedMark> managed;
  std::vector<std::string> words;  // the action, the layer, a label or paths
  std::int64_t began_ms = 0;       // Unix time
  std::int64_t ended_ms = 0;
  bool is_done = false;
  std::optional<Error> error = {};
};
Outcome layer_outcome(const LayerEvent& event);

class Audit {
 public:
  // Nothing is logged where no file is named. Errors: kOutputUnwritable.
  static Result<Audit> open(AuditPlace place);
  static Result<Audit> open(const Policy& policy, std::string session = {}) {
    return open(audit_place(policy, std::move(session)));
  }

  // Whether a line can be added, also where the log was moved or removed: before anything starts.
  Status check();

  // Adds the line. Where that fails, the outcome's error says so, unless it has one.
  void record(Outcome& outcome);

 private:
  std::vector<AppendFile> files_;
  AuditPlace place_;
};

}  // namespace sbx
