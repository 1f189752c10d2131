// SPDX-License-Identifier: Apache-2.0
// Fuzz target: screen_holds and frames_hold (properties.h) for any bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!sbx::screen_holds(bytes) || !sbx::frames_hold(bytes)) std::abort();
  return 0;
}
