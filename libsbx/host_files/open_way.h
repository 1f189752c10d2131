// SPDX-License-Identifier: Apache-2.0
// A command may close directories to its own user (`chmod 500 .`), and its user may have closed
// them before: what a run makes and removes there is made and removed all the same.
#pragma once

#include <string>

namespace sbx {

// Calls `change`, which answers whether it succeeded or sets errno, and where it says EACCES again
// while the caller's own directories on the way to `path` are open to him. Each has then the mode
// that it had. errno is that of the last call. Follows no symlink on the way.
bool with_open_way(const std::string& path, bool (*change)(const std::string& path));

}  // namespace sbx
