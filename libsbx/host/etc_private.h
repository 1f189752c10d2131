// SPDX-License-Identifier: Apache-2.0
// What of /etc is not shown inside: a list of names, each with its reason, and whatever other users
// may not read. Reads only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/view.h"

namespace sbx {

struct PrivatePlace {
  std::string_view name;  // below /etc; its last component may hold * and ?
  std::string_view reason;
};
std::span<const PrivatePlace> private_places();

// Entries of `etc` that are there and not to be shown, sorted, none below another. `look_at_modes`:
// those that others may not read or reach as well, which costs a look at every entry; without it,
// the kernel keeps a caller of no groups from them. A private name that is a symlink hides what it
// leads to in `etc` too. Errors: kPathRefused where what is there cannot be known.
Result<std::vector<Node>> find_private(const std::string& etc, bool look_at_modes);

}  // namespace sbx
