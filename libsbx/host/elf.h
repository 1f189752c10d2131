// SPDX-License-Identifier: Apache-2.0
// ELF: the few facts that a dynamic loader follows, out of a file that may be hostile. Every offset
// and count is checked and bounded; nothing is mapped, so that a file that shrinks meanwhile gives
// an error and no SIGBUS. Pure but for the reader that it is handed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sbx {

inline constexpr std::uint16_t kElfMachineX86_64 = 62;
inline constexpr std::uint16_t kElfMachineAarch64 = 183;

struct ElfFile {
  std::uint16_t machine = 0;
  std::string interpreter;  // PT_INTERP; empty: static, or a library
  std::vector<std::string> needed;
  std::vector<std::string> rpath;  // DT_RPATH, split at ':', $ORIGIN not yet replaced
  std::vector<std::string>
      runpath;  // DT_RUNPATH, likewise; where present, rpath counts for nothing
};

// Reads up to `size` bytes at `offset`; answers how many there were.
using ByteReader = std::function<std::size_t(std::uint64_t offset, void* to, std::size_t size)>;
ByteReader reader_of(int fd);  // borrows the descriptor

// Errors: kBadValue for anything that is not a well-formed little-endian ELF64 file for x86-64 or
// aarch64; kTooLarge beyond the bounds (512 program headers, 4096 dynamic entries, 512 libraries,
// strings of 4095 bytes).
Result<ElfFile> read_elf(const ByteReader& read);

// One line of /etc/ld.so.cache.
struct LdCacheEntry {
  std::string_view soname;
  std::string_view path;
  std::uint16_t machine = 0;  // of ElfFile; 0: another one
};

// Reads glibc's new format ("glibc-ld.so.cache1.1"), alone or behind the old one. The entries
// borrow `bytes`. Entries whose offsets lead out are left out; no cache at all gives none.
std::vector<LdCacheEntry> read_ld_cache(std::string_view bytes);

}  // namespace sbx
