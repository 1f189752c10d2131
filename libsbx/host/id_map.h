// SPDX-License-Identifier: Apache-2.0
// Mounts that show files as other users' than they are on the disk: as nobody's, so that root too
// gets of them only what others may; or one user's as root's, so that root, who has no capabilities
// inside, may work there as outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/owned_fd.h"
#include "base/result.h"

namespace sbx {

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};

// A user namespace without processes, held by whoever looks at files and by each plan that shows
// them. Two are equal where both are there, or neither.
class IdMap {
 public:
  IdMap() = default;
  // Every file is nobody's. Errors: kLayerUnavailable where no user namespace can be made.
  static Result<IdMap> nobody();
  // The owner's files are root's, and root's the owner's; what is made there is the owner's. Of all
  // others nothing changes. Errors: those of nobody(); kLayerUnavailable where the caller may not
  // map the ids of others.
  static Result<IdMap> as_root(const Owner& owner);

  bool is_made() const { return map_ != nullptr; }

  // What `file` is open on (O_PATH), and all that is mounted below it, cloned and detached, with
  // `attributes` (MOUNT_ATTR_*) and mount_setattr(2)'s MOUNT_ATTR_IDMAP: for move_mount(2). Errors:
  // kLayerUnavailable where the caller may not map ids on those file systems, or one of them
  // cannot.
  Result<OwnedFd> tree(int file, std::uint64_t attributes) const;

  friend bool operator==(const IdMap& a, const IdMap& b) { return a.is_made() == b.is_made(); }

 private:
  static Result<IdMap> make(const std::string& uids, const std::string& gids);

  std::shared_ptr<const OwnedFd> map_;
};

}  // namespace sbx
