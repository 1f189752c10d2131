// SPDX-License-Identifier: Apache-2.0
// A protected path within a rw root → what must be bound read-only. A `.git` that is a file (a
// worktree, a submodule) is followed to the directories that it names. Reads only, by descriptor.
#pragma once

#include <vector>

#include "base/result.h"
#include "host/view.h"

namespace sbx {

// Appends to `out`. Nothing is appended for a path of which a component is a symlink leading out
// of the root: it is never followed to write. Errors: kPathRefused for a relative path that
// escapes.
Status resolve_protect(const Node& root, const Protect& protect, std::vector<ViewProtect>& out);

}  // namespace sbx
