// SPDX-License-Identifier: Apache-2.0
#include "run/at_hand.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include <cerrno>
#include <cstdint>

#include "base/files.h"
#include "base/owned_fd.h"
#include "sys/calls.h"

namespace sbx {

bool is_at_hand(const std::string& path) {
  const auto is_known = [&](std::uint64_t resolve) {
    const sys::OpenHow how{O_PATH | O_CLOEXEC, 0, resolve | sys::kResolveNoMagiclinks};
    const OwnedFd found(sys::openat2(AT_FDCWD, path.c_str(), how));
    return found.is_open() || is_missing(errno) || errno == EACCES;
  };
  return is_known(sys::kResolveCached) || is_known(RESOLVE_NO_XDEV);
}

}  // namespace sbx
