// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as an ELF file and as ld.so.cache. What comes out must lie within the
// bounds that host/elf.h promises.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "host/elf.h"
#include "support/byte_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto fits = [](const std::string& text) {
    return text.size() <= 4095 && text.find('\0') == std::string::npos;
  };
  const sbx::Result<sbx::ElfFile> file = sbx::read_elf(sbx::reader_of(bytes));
  if (file.ok()) {
    if (!fits(file.value().interpreter) || file.value().needed.size() > 512) std::abort();
    for (const std::string& name : file.value().needed) {
      if (name.empty() || !fits(name)) std::abort();
    }
  }
  for (const sbx::LdCacheEntry& entry : sbx::read_ld_cache(bytes)) {
    if (entry.soname.empty() || !entry.path.starts_with('/')) std::abort();
    if (entry.path.data() < bytes.data() ||
        entry.path.data() + entry.path.size() > bytes.data() + bytes.size()) {
      std::abort();
    }
  }
  return 0;
}
