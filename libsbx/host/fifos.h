// SPDX-License-Identifier: Apache-2.0
// A read-only mount does not keep a FIFO from being opened for writing. Landlock does, but for what
// lies within something writable: there each FIFO is hidden. Reads only, bounded.
#pragma once

#include <vector>

#include "base/result.h"
#include "host/view.h"

namespace sbx {

inline constexpr std::size_t kMaxFifoEntries = 16'384;  // that are looked at in one root
inline constexpr std::size_t kMaxHiddenFifos = 256;

// Adds a hidden root for each FIFO in a read-only root that lies in a writable one or in /tmp.
// Errors: kPathRefused where they are too many, kSetupFailed where a look fails.
Status hide_fifos(std::vector<ViewRoot>& roots);

}  // namespace sbx
