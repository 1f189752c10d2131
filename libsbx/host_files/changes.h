// SPDX-License-Identifier: Apache-2.0
// The upper directory of an overlay → what the command would have changed. The upper directory was
// written from inside: it is walked by descriptor, never through a symlink, and bounded.
#pragma once

#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "model/outcome.h"

namespace sbx {

// `lowers[i]` is the host directory that `uppers[i]` lies over. Sorted by path; at most 10,000
// entries, the last one then being {"…", "truncated"}.
inline constexpr std::size_t kMaxChanges = 10'000;
void sort_changes(std::vector<Change>& changes);
std::vector<Change> list_changes(const std::vector<std::string>& lowers,
                                 const std::vector<OwnedFd>& uppers);

}  // namespace sbx
