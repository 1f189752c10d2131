// SPDX-License-Identifier: Apache-2.0
// FileCall: a system call that names files → what it names and what it wants of each, in words.
// Values only, but for one word that openat2 keeps in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "sys/kernel.h"

namespace sbx {

enum class FileNeed : std::uint8_t {
  kLook,    // asks about it: no right but to see it
  kRead,    //
  kWrite,   // its content
  kChange,  // its mode, owner, times or attributes
  kExec,    //
  kCreate,  // a new entry in its directory
  kRemove,  // the entry itself, which is there
  kReplace  // an entry that may be there
};

struct NamedFile {
  const char* operation = "";  // as `denials` has it
  FileNeed need = FileNeed::kLook;
  int dirfd = 0;  // AT_FDCWD: the working directory
  std::uint64_t address = 0;
  bool follows = true;                // a symlink at the end
  bool creates = false;               // where nothing is yet
  bool is_exclusive = false;          // and there alone
  bool may_be_empty = false;          // an empty path means `dirfd` itself
  bool is_held = false;               // no path: what the descriptor `dirfd` holds
  bool must_be_new = false;           // RENAME_NOREPLACE: EEXIST where something is
  std::uint64_t landlock_rights = 0;  // on the file, or for kCreate and kRemove on its directory
};

// One for most calls, two for rename and link; none for a call that is not known.
std::vector<NamedFile> files_of(const sys::SeccompNotif& call);

// Whether the filter tells of the call only for what an overlay cannot copy up, where it does not
// tell of every path: not of those whose reports have other reasons too.
bool is_told_for_changes(int number);

}  // namespace sbx
