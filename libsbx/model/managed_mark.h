// SPDX-License-Identifier: Apache-2.0
// A file of the managed policy that counted for a run, and what it held.
#pragma once

#include <string>

namespace sbx {

struct ManagedMark {
  std::string path;
  std::string sha256;
  friend bool operator==(const ManagedMark&, const ManagedMark&) = default;
};

}  // namespace sbx
