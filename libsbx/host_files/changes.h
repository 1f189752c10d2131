// SPDX-License-Identifier: Apache-2.0
// The upper directory of an overlay → what the command would have changed. The upper directory was
// written from inside: it is walked by descriptor, never through a symlink, and bounded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "model/outcome.h"

namespace sbx {

// Directories within one another that are looked into, at the most.
inline constexpr int kDeepest = 2000;
// `lowers[i]` is the host directory that `uppers[i]` lies over. Sorted by path; at most 10,000
// entries; {"…", "truncated"} is the last one of those that are not all. `sizes`: what each takes,
// in bytes.
inline constexpr std::size_t kMaxChanges = 10'000;
void sort_changes(std::vector<Change>& changes, bool is_whole);

// Changed files with other names, which keep the former content: an overlay parts them.
class Parted {
 public:
  void note(const std::string& path) {
    if (count_++ == 0) first_ = path;
  }
  // Empty: there are none. `by`: what has parted them.
  std::string text(const std::string& by) const;

 private:
  std::string first_;
  std::size_t count_ = 0;
};

std::vector<Change> list_changes(const std::vector<std::string>& lowers,
                                 const std::vector<OwnedFd>& uppers, Parted& parted,
                                 std::vector<std::int64_t>* sizes = nullptr);

}  // namespace sbx
