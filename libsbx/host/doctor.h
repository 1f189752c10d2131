// SPDX-License-Identifier: Apache-2.0
// Doctor: HostFacts → what this machine can enforce, layer by layer, why not where not, and the
// exact command that mends it; as text for people or JSON for programs.
#pragma once

#include <string>

#include "base/result.h"
#include "host/facts.h"
#include "profile/managed.h"

namespace sbx {

// What kept layers of a workspace would be made as.
struct DoctorLayers {
  std::string workspace;
  std::string directory;  // empty: there can be none
  bool is_overlay = false;
  bool shares_blocks = false;  // as a copy
  std::string reason;          // why no overlay, or none at all
};

struct DoctorReport {
  std::string text;         // several lines, for a terminal
  std::string json;         // one document
  bool all_layers = false;  // every layer of the default profile can be had
};

// `facts` must have been probed (probe_layers). `executable` is this program's own path, for the
// AppArmor profile text. `managed` is the managed policy, or why nothing can run under it. `layers`
// are those of the workspace that a run would have.
DoctorReport make_doctor_report(const HostFacts& facts, const std::string& executable,
                                const Result<Managed>& managed = Managed{},
                                const DoctorLayers& layers = {});

// The AppArmor profile that lets `executable`, sbx-run or sbx-bwrap, make user namespaces on
// Ubuntu 24.04 and later.
std::string apparmor_profile_text(const std::string& executable);

}  // namespace sbx
