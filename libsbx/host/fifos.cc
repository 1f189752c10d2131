// SPDX-License-Identifier: Apache-2.0
// Breadth first: what lies near the top is found whatever else there is.
#include "host/fifos.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <deque>
#include <string>

#include "base/files.h"
#include "base/text.h"

namespace sbx {
namespace {

bool is_fifo(const std::string& path, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_FIFO;
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
}

// One more than kMaxHiddenFifos where there are more.
std::vector<std::string> find_fifos(const std::string& base) {
  std::vector<std::string> found;
  std::deque<std::string> directories = {base};
  std::size_t seen = 0;
  for (; !directories.empty(); directories.pop_front()) {
    Listing listing(AT_FDCWD, directories.front().c_str(), O_NOFOLLOW);
    while (const dirent* entry = listing.next()) {
      if (++seen > kMaxFifoEntries || found.size() > kMaxHiddenFifos) return found;
      std::string path = directories.front() + "/" + entry->d_name;
      if (is_fifo(path, *entry)) {
        found.push_back(std::move(path));
      } else if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) {
        directories.push_back(std::move(path));
      }
    }
  }
  return found;
}

bool lies_in_writable(const ViewRoot& root, const std::vector<ViewRoot>& roots) {
  const std::string& path = root.node.path;
  return is_below(path, "/tmp") ||
         std::any_of(roots.begin(), roots.end(), [&](const ViewRoot& other) {
           return other.access == Access::kReadWrite && is_below(path, other.node.path);
         });
}

const ViewRoot* deepest_around(const std::string& path, const std::vector<ViewRoot>& roots) {
  const ViewRoot* deepest = nullptr;
  for (const ViewRoot& root : roots) {
    if (!is_below(path, root.node.path)) continue;
    if (deepest == nullptr || root.node.path.size() > deepest->node.path.size()) deepest = &root;
  }
  return deepest;
}

}  // namespace

Status hide_fifos(std::vector<ViewRoot>& roots) {
  std::vector<ViewRoot> hidden;
  for (const ViewRoot& root : roots) {
    const bool is_directory = root.node.kind == NodeKind::kDirectory;
    if (root.access != Access::kReadOnly || !is_directory || !lies_in_writable(root, roots)) {
      continue;
    }
    for (const std::string& path : find_fifos(root.node.path)) {
      if (deepest_around(path, roots) != &root) continue;
      if (hidden.size() == kMaxHiddenFifos) {
        return Error{ErrorCode::kPathRefused,
                     "more than " + std::to_string(kMaxHiddenFifos) + " FIFOs lie in " +
                         root.node.path + ", which would be writable inside",
                     root.where, "hide their directory, or show what does not hold it"};
      }
      struct stat info {};
      if (lstat(path.c_str(), &info) != 0) continue;
      hidden.push_back(
          {{path, NodeKind::kOther, info.st_dev, info.st_ino}, Access::kNone, root.where});
    }
  }
  roots.insert(roots.end(), hidden.begin(), hidden.end());
  return {};
}

}  // namespace sbx
