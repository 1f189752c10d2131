// SPDX-License-Identifier: Apache-2.0
// Directories: where each command of a text may run. Constant `cd`s are followed; where one may
// have failed, or may not run, the directories before and after it both count.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "guard/places.h"

namespace sbx::guard {

class DirectoryMap {
 public:
  DirectoryMap(const shell::Reading& reading, std::string_view text, const Places& places,
               const std::string& cwd);

  // Of reading.commands[index].
  const Directories& of(std::size_t index) const { return sets_[which_[index]]; }

 private:
  std::vector<Directories> sets_;
  std::vector<std::uint32_t> which_;
};

}  // namespace sbx::guard
