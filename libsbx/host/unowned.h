// SPDX-License-Identifier: Apache-2.0
// A mount in which every file belongs to nobody that there is, so that root too gets of it only
// what others may: no file has to be looked at for its mode.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

// The ids of such mounts: a user namespace without processes, held by whoever looks at /etc and by
// each plan that shows it. Two are equal where both are there, or neither.
class UnownedMap {
 public:
  UnownedMap() = default;
  // Errors: kLayerUnavailable where no user namespace can be made.
  static Result<UnownedMap> make();

  bool is_made() const { return map_ != nullptr; }

  // `path` and all that is mounted below it, cloned and detached, with `attributes` (MOUNT_ATTR_*)
  // and mount_setattr(2)'s MOUNT_ATTR_IDMAP: for move_mount(2). Errors: kLayerUnavailable where the
  // caller may not map ids on those file systems, or one of them cannot.
  Result<OwnedFd> tree(const std::string& path, std::uint64_t attributes) const;

  friend bool operator==(const UnownedMap& a, const UnownedMap& b) {
    return a.is_made() == b.is_made();
  }

 private:
  std::shared_ptr<const OwnedFd> map_;
};

}  // namespace sbx
