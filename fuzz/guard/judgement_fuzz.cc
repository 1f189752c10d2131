// SPDX-License-Identifier: Apache-2.0
// Fuzz target: judgement_holds (properties.h) for any bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!sbx::judgement_holds({reinterpret_cast<const char*>(data), size})) std::abort();
  return 0;
}
