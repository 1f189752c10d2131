// SPDX-License-Identifier: Apache-2.0
// A tree → whether an overlay over it behaves as the tree itself.
#pragma once

#include <string>

#include "base/result.h"
#include "kept/base_records.h"
#include "kept/state.h"
#include "policy/environment.h"

namespace sbx {

// The obstacle where the store is.
inline constexpr const char* kNoUpper = "no overlay can keep its writes there";

// Why the kernel's overlay cannot stand for the tree: files of owners that are not mapped inside
// and could be written, several names of one writable file, mounts below it, more entries than are
// looked at. Empty: it can.
std::string overlay_obstacle(const std::string& root);

// As what a new layer of the workspace would be made, where, and why as no other.
struct NewLayer {
  KeptKind kind = KeptKind::kOverlay;
  bool shares_blocks = false;  // a copy of it would (FICLONE)
  std::string directory;       // where layers of the workspace lie
  std::string obstacle;        // why it is a copy
};
// Makes nothing but the store's directories. Errors: those of open_layer_store().
Result<NewLayer> plan_new_layer(const Environment& environment, const std::string& workspace);

}  // namespace sbx
