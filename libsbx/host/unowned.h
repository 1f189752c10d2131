// SPDX-License-Identifier: Apache-2.0
// A mount in which every file belongs to nobody that there is, so that root too gets of it only
// what others may: no file has to be looked at for its mode.
#pragma once

#include <cstdint>
#include <string>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

// `path` and all that is mounted below it, cloned and detached, with `attributes` (MOUNT_ATTR_*)
// and mount_setattr(2)'s MOUNT_ATTR_IDMAP: for move_mount(2). Errors: kLayerUnavailable where the
// caller may not map ids on those file systems, or one of them cannot.
Result<OwnedFd> unowned_tree(const std::string& path, std::uint64_t attributes);

}  // namespace sbx
