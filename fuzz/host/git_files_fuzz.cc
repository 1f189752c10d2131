// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as git's configuration and as its index.
#include <cstdint>
#include <cstdlib>

#include "properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!sbx::git_files_hold({reinterpret_cast<const char*>(data), size})) std::abort();
  return 0;
}
