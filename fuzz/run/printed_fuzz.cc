// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as what a command printed to stderr.
#include <cstdint>
#include <cstdlib>

#include "properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!sbx::printed_refusals_hold({reinterpret_cast<const char*>(data), size})) std::abort();
  return 0;
}
