// SPDX-License-Identifier: Apache-2.0
// Any bytes → the decoder of a run's params.
#include <cstdint>
#include <cstdlib>

#include "params_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!params_hold({reinterpret_cast<const char*>(data), size})) std::abort();
  return 0;
}
