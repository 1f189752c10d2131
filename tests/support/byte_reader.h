// SPDX-License-Identifier: Apache-2.0
// The bytes of an ELF file that is not on a disk.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "host/elf.h"

namespace sbx {

// Borrows the bytes.
inline ByteReader reader_of(std::string_view bytes) {
  return [bytes](std::uint64_t offset, void* to, std::size_t size) -> std::size_t {
    if (offset >= bytes.size()) return 0;
    const std::size_t got = std::min(size, bytes.size() - static_cast<std::size_t>(offset));
    if (got > 0) std::memcpy(to, bytes.data() + offset, got);
    return got;
  };
}

}  // namespace sbx
