// SPDX-License-Identifier: Apache-2.0
// A tree → whether an overlay over it behaves as the tree itself; and a copy of one that does not.
#pragma once

#include <string>

#include "base/result.h"
#include "kept/base_records.h"

namespace sbx {

// Why the kernel's overlay cannot stand for the tree: files of owners that are not mapped inside
// and could be written, several names of one writable file, mounts below it, more entries than are
// looked at. Empty: it can.
std::string overlay_obstacle(const std::string& root);

// Into the empty directory `to`, with modes, times, user attributes and hard links; what it is made
// of goes into `records`. Sockets and devices, and what cannot be read, are left out. Blocks are
// shared where the file system can. Errors: kSetupFailed.
Status copy_tree(const std::string& from, const std::string& to, std::size_t root,
                 BaseRecords& records);

// Bytes, holes left out; blocks are shared where they can be. False and errno.
bool copy_bytes(int from, int to);
// Those of the user namespace but overlayfs' own.
void copy_user_attributes(int from, int to);

}  // namespace sbx
