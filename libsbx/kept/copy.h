// SPDX-License-Identifier: Apache-2.0
// A tree → a copy of it, made by several threads. Nothing is reached but by descriptors of the two
// trees, never through a symlink.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "kept/base_records.h"

namespace sbx {

struct TreeCopy {
  std::size_t root = 0;                    // its number in the records
  std::optional<std::int64_t> most_bytes;  // that it may take on the disk
  // A layer's own tree: what its owner may not read is opened for the copy; records get stamps
  // only.
  bool is_own = false;
  std::set<std::string> hidden;  // below the root: what comes without content, sockets as files
  int owner_pidfd = -1;          // it ends with this process; -1: none
  int threads = 0;               // 0: by the processors, at most four

  // What came of it.
  std::int64_t bytes = 0;      // on the disk
  std::size_t left_out = 0;    // sockets, devices, and what cannot be read
  std::string first_left_out;  // below the root
};

// Into the empty directory `to`, with modes, times, user attributes and hard links; what it is made
// of goes into `records`. Blocks are shared where the file system can. All threads have ended when
// it returns; the first error ends them. Errors: kSetupFailed, told_to_end(); `to` then holds a
// part.
Status copy_tree(const std::string& from, const std::string& to, TreeCopy& copy,
                 BaseRecords& records);

// Of a layer's own tree; what its owner may not read has another mode for a moment. Closed: errno.
OwnedFd open_own(int dirfd, const std::string& path);

// Bytes, holes left out; blocks are shared where they can be. Where there is an owner (which may be
// none: -1), it is told to end with EINTR. False and errno.
bool copy_bytes(int from, int to, const int* owner_pidfd = nullptr);

}  // namespace sbx
