// SPDX-License-Identifier: Apache-2.0
#include "run/at_hand.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/files.h"
#include "base/owned_fd.h"
#include "base/paths.h"
#include "host/layer_places.h"
#include "sys/calls.h"

namespace sbx {
namespace {

OwnedFd look(int directory, const char* path, std::uint64_t resolve) {
  const sys::OpenHow how{O_PATH | O_CLOEXEC, 0, resolve | sys::kResolveNoMagiclinks};
  return OwnedFd(sys::openat2(directory, path, how));
}

// Also: it is known that it is not there, or not to be seen.
bool is_known(int directory, const char* path, std::uint64_t resolve) {
  return look(directory, path, resolve).is_open() || is_missing(errno) || errno == EACCES;
}

// On a file system of its own that no server keeps. A mount within it is not entered.
bool is_on_local_mount(const std::string& path) {
  const std::vector<std::string> all = mount_points(true);
  const std::vector<std::string> local = mount_points(false);
  const std::string* deepest = nullptr;
  for (const std::string& point : all) {
    if (point != "/" && is_below(path, point) &&
        (deepest == nullptr || point.size() > deepest->size())) {
      deepest = &point;
    }
  }
  if (deepest == nullptr || std::count(all.begin(), all.end(), *deepest) !=
                                std::count(local.begin(), local.end(), *deepest)) {
    return false;
  }
  const OwnedFd top = look(AT_FDCWD, deepest->c_str(), sys::kResolveCached);
  if (!top.is_open() || path.size() <= deepest->size() + 1) return top.is_open();
  return is_known(top.get(), path.c_str() + deepest->size() + 1, RESOLVE_NO_XDEV);
}

}  // namespace

bool is_at_hand(const std::string& path) {
  return is_known(AT_FDCWD, path.c_str(), sys::kResolveCached) ||
         is_known(AT_FDCWD, path.c_str(), RESOLVE_NO_XDEV) || is_on_local_mount(path);
}

}  // namespace sbx
