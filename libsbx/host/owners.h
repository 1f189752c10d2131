// SPDX-License-Identifier: Apache-2.0
// Trees → what in them is of an owner or group that is not mapped inside, and could be written by
// the caller all the same: what the kernel's overlay cannot copy up (EOVERFLOW).
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"

namespace sbx {

// As it would be inside, where the caller has no capabilities: whether its content can be changed,
// or what lies in it.
bool may_change(int dirfd, const char* name, const struct stat& info);
bool is_foreign(const struct stat& info);

// Looks piece by piece, so that whoever has other work need not wait for the end.
class OwnerLook {
 public:
  explicit OwnerLook(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  // `entries` more of them. True: there is something foreign, or a place that cannot be told.
  // False: the end was reached, and there was nothing. nullopt: there is more to look at.
  std::optional<bool> look(std::size_t entries);

 private:
  struct Directory {
    Listing listing;
    bool may_change;  // what is in it can be moved and linked
  };
  std::optional<bool> enter(int parent, const char* name, const struct stat& info, bool may_move);

  std::vector<std::string> roots_;  // not yet begun
  std::vector<Directory> open_;     // the way to where it is
};

}  // namespace sbx
