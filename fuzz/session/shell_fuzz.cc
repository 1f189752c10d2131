// SPDX-License-Identifier: Apache-2.0
// Fuzz target: shell_holds and keys_hold (shell_property.h) for any bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "shell_property.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!sbx::shell_holds(bytes) || !sbx::keys_hold(bytes)) std::abort();
  return 0;
}
