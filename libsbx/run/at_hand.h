// SPDX-License-Identifier: Apache-2.0
// Whether a look at a path of the host waits for nobody: a text may name what lies on a server that
// does not answer, and others wait for this thread.
#pragma once

#include <string>

namespace sbx {

// In the kernel's caches, or on the file system of /, links on the way and at the end included, or
// of another that no server keeps; or known not to be there.
bool is_at_hand(const std::string& path);

}  // namespace sbx
