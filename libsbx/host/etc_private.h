// SPDX-License-Identifier: Apache-2.0
// What of /etc is not shown inside: a list of names, each with its reason, and whatever other users
// may not read. Reads only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/view.h"

namespace sbx {

// What the command could read of /etc, were nothing covered.
enum class EtcReach : std::uint8_t {
  kOthers,  // what others may: nothing in that mount is the command's (host/id_map)
  kUser,    // and what is the user's own
  kMore,    // root's files, or those of groups: each entry's mode is looked at
};

// Entries of `etc` that are there and not to be shown, sorted, none below another: those of the
// list, but for what the kernel keeps from the command, and with kMore whatever others may not read
// or reach. A private name that is a symlink hides what it leads to in `etc` too. Errors:
// kPathRefused where what is there cannot be known.
Result<std::vector<Node>> find_private(const std::string& etc, EtcReach reach);

// Whether a path below `etc` is, or lies below, something of the list or what others may not read:
// by its own name, whatever links there are.
bool may_be_private(const std::string& etc, const std::string& path);

}  // namespace sbx
