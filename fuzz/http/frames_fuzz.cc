// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes through check_frames (properties.h).
#include <cstdint>
#include <string_view>

#include "properties.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sbx::http::check_frames({reinterpret_cast<const char*>(data), size});
  return 0;
}
