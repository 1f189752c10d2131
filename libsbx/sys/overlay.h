// SPDX-License-Identifier: Apache-2.0
// Marks that overlayfs keeps on the files of a layer (mount option userxattr).
#pragma once

#include <sys/xattr.h>

namespace sbx::sys {

// On a directory that hides what the layers below have of that name: "y".
inline constexpr const char* kOverlayOpaque = "user.overlay.opaque";

// Not of an O_PATH descriptor: fgetxattr(2) gives EBADF for it.
inline bool is_opaque(int fd) {
  char value = 0;
  return fgetxattr(fd, kOverlayOpaque, &value, 1) == 1 && value == 'y';
}

}  // namespace sbx::sys
