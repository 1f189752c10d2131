// SPDX-License-Identifier: Apache-2.0
// Fuzz target: terminal_text_holds (properties.h) for any bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!sbx::terminal_text_holds({reinterpret_cast<const char*>(data), size})) std::abort();
  return 0;
}
