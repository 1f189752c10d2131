// SPDX-License-Identifier: Apache-2.0
#include "properties.h"

#include <fcntl.h>

#include <climits>

#include "host/git_files.h"
#include "run/memory_count.h"

namespace sbx {

bool git_files_hold(std::string_view bytes) {
  constexpr std::size_t kMost = 8;
  std::size_t size = 0;
  for (const std::string& include : read_git_config(bytes).includes) size += include.size();
  if (size > bytes.size()) return false;
  // What is written is read as what it was.
  const std::string shared = shareable_git_config(bytes);
  if (shareable_git_config(shared) != shared) return false;
  for (const std::size_t id_bytes : {20U, 32U}) {
    const Gitlinks links = read_gitlinks(bytes, id_bytes, kMost);
    if (links.paths.size() > kMost) return false;
    if (!links.shared.empty() && links.shared.size() != 2 * id_bytes) return false;
    for (const std::string& path : links.paths) {
      if (path.empty() || path.size() >= PATH_MAX || path.find('\0') != std::string::npos) {
        return false;
      }
    }
  }
  return true;
}

bool maps_hold(std::string_view bytes) {
  MemoryCount once;
  once.add_maps(AT_FDCWD, "nobody", bytes);
  MemoryCount twice;
  for (int i = 0; i < 2; ++i) twice.add_maps(AT_FDCWD, "nobody", bytes);
  return once.bytes() >= 0 && once.bytes() == twice.bytes();
}

}  // namespace sbx
