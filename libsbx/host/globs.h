// SPDX-License-Identifier: Apache-2.0
// A pattern of paths below a directory → the paths that match now. `*` and `?` stand within one
// component, `**` for any directories. No symlink is followed. Reads only, bounded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sbx {

inline constexpr std::size_t kMaxGlobMatches = 4096;
inline constexpr std::size_t kMaxGlobEntries = 1'000'000;

inline bool is_glob(std::string_view path) { return path.find('*') != std::string_view::npos; }

// Relative to `base`, sorted. A directory that cannot be listed has nothing for the command either.
// Errors: kPathRefused over the bounds, with `where`.
Result<std::vector<std::string>> expand_glob(const std::string& base, std::string_view pattern,
                                             const std::string& where);

}  // namespace sbx
