// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes through check_plan (properties.h).
#include <cstdint>
#include <string_view>

#include "properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sbx::page::check_plan({reinterpret_cast<const char*>(data), size});
  return 0;
}
