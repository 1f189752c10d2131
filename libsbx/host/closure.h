// SPDX-License-Identifier: Apache-2.0
// The closure of programs for base `tools`: command names → the files that must exist for them to
// run: the executables, their interpreters (#! lines, PT_INTERP), and the libraries that they load
// (DT_NEEDED, transitively, with RPATH, RUNPATH, $ORIGIN and ld.so.cache). Reads files only;
// nothing is executed (no ldd).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace sbx {

struct ToolClosure {
  // Absolute paths of regular files and of directories that must be shown read-only, sorted, no
  // duplicates. Each is a path as the program will open it; where it passes through symlinks, the
  // links are in `symlinks` and the final target is in `files`.
  std::vector<std::string> files;
  std::vector<std::string> directories;         // e.g. /usr/lib/python3.11 for python3
  std::map<std::string, std::string> symlinks;  // path → target text, as on the host
  std::vector<std::string> missing;             // names that were not found on the search path
};

// `names` are bare command names or absolute paths; `search_path` is a PATH value. Errors:
// kPathRefused for a name with '/' that is not absolute.
Result<ToolClosure> close_over_tools(const std::vector<std::string>& names,
                                     const std::string& search_path);

}  // namespace sbx
