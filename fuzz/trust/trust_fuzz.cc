// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sbx::check_trust_record({reinterpret_cast<const char*>(data), size});
  return 0;
}
