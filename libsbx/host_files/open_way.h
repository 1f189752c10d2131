// SPDX-License-Identifier: Apache-2.0
// A command may close directories to its own user (`chmod 500 .`), and its user may have closed
// them before: what a run makes and removes there is made and removed all the same.
#pragma once

#include <functional>
#include <string>

#include "base/owned_fd.h"

namespace sbx {

// The directory that holds `path`, reached through no symlink (ELOOP): others may have put one in
// since the path was looked at. Closed where errno says why.
OwnedFd open_parent(const std::string& path);

using PathChange = std::function<bool(const std::string& path)>;

// Calls `change`, which answers whether it succeeded or sets errno, and where it says EACCES again
// while the caller's own directories on the way to `path` are open to him. Each has then the mode
// that it had. errno is that of the last call. Follows no symlink on the way.
bool with_open_way(const std::string& path, const PathChange& change);

}  // namespace sbx
