// SPDX-License-Identifier: Apache-2.0
// Breadth first: what lies near the top is found whatever else there is.
#include "host/fifos.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <string>

#include "base/files.h"
#include "base/paths.h"

namespace sbx {
namespace {

Error look_failed(const char* call, const std::string& path) {
  const int error = errno;
  return call_failed(ErrorCode::kSetupFailed, std::string(call) + "(" + path + ")", path, "",
                     error);
}

// What is gone by now, no directory any more, or closed to the caller. Anything else could leave a
// FIFO unseen.
bool is_nothing_to_see(int error) { return is_missing(error) || error == ELOOP || error == EACCES; }

// One more than kMaxHiddenFifos where there are more.
Result<std::vector<Node>> find_fifos(const std::string& base) {
  std::vector<Node> found;
  std::deque<std::string> directories = {base};
  std::size_t seen = 0;
  for (; !directories.empty(); directories.pop_front()) {
    const std::string& directory = directories.front();
    Listing listing(AT_FDCWD, directory.c_str(), O_NOFOLLOW);
    if (!listing.is_open()) {
      if (is_nothing_to_see(errno)) continue;
      return look_failed("open", directory);
    }
    while (const dirent* entry = listing.next()) {
      if (++seen > kMaxFifoEntries || found.size() > kMaxHiddenFifos) return found;
      std::string path = directory + "/" + entry->d_name;
      if (entry->d_type == DT_DIR) directories.push_back(path);
      if (entry->d_type != DT_FIFO && entry->d_type != DT_UNKNOWN) continue;
      struct stat info {};
      if (lstat(path.c_str(), &info) != 0) {
        if (is_nothing_to_see(errno)) continue;
        return look_failed("lstat", path);
      }
      if (S_ISDIR(info.st_mode)) directories.push_back(path);
      if (!S_ISFIFO(info.st_mode)) continue;
      found.push_back({std::move(path), NodeKind::kOther, info.st_dev, info.st_ino});
    }
    if (errno != 0 && !is_nothing_to_see(errno)) return look_failed("getdents64", directory);
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

}  // namespace

Status hide_fifos(std::vector<ViewRoot>& roots) {
  std::vector<ViewRoot> hidden;
  for (const ViewRoot& root : roots) {
    const bool is_directory = root.node.kind == NodeKind::kDirectory;
    if (root.access != Access::kReadOnly || !is_directory || !lies_in_writable(root, roots)) {
      continue;
    }
    SBX_TRY(const std::vector<Node> fifos, find_fifos(root.node.path));
    for (const Node& fifo : fifos) {
      if (deepest_at(roots, fifo.path, &ViewRoot::path) != &root) continue;
      if (hidden.size() == kMaxHiddenFifos) {
        return Error{ErrorCode::kPathRefused,
                     "more than " + std::to_string(kMaxHiddenFifos) + " FIFOs lie in " +
                         root.node.path + ", which would be writable inside",
                     root.where, "hide their directory, or show what does not hold it"};
      }
      hidden.push_back({fifo, Access::kNone, root.where});
    }
  }
  roots.insert(roots.end(), hidden.begin(), hidden.end());
  return {};
}

}  // namespace sbx
