// SPDX-License-Identifier: Apache-2.0
// Where layers lie that are kept beside their workspace, and where none can lie.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sbx {

// The caller's, at the top of a mount.
std::string layers_beside(std::string_view top);

// Of all mounts that can be reached; with those of servers, which may never answer, or without:
// they hold no layers, since no overlay writes there. proc_pid_mountinfo(5).
std::vector<std::string> mount_points(bool also_served);

// Where something is mounted below the directory, so that no overlay lies over it; empty: nowhere.
std::string mount_below(const std::string& directory);

}  // namespace sbx
