// SPDX-License-Identifier: Apache-2.0
// Bounded readers of ELF64's dynamic section and of ld.so.cache. See elf(5) and, for the cache,
// glibc's sysdeps/generic/dl-cache.h.
#include "host/elf.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxHeaders = 512;
constexpr std::size_t kMaxDynamic = 4096;
constexpr std::size_t kMaxNeeded = 512;
constexpr std::size_t kMaxString = 4095;
static_assert(kElfMachineX86_64 == EM_X86_64 && kElfMachineAarch64 == EM_AARCH64);

Error malformed(const char* what) {
  return Error{ErrorCode::kBadValue, std::string("not a usable ELF file: ") + what, "", "",
               ENOEXEC};
}
Error beyond_bounds(const char* what) {
  return Error{ErrorCode::kTooLarge, std::string("ELF file: too many ") + what, "", "", E2BIG};
}

struct Dynamic {
  std::vector<std::uint64_t> needed;
  std::optional<std::uint64_t> rpath;
  std::optional<std::uint64_t> runpath;
  std::optional<std::uint64_t> string_table;  // a virtual address
  std::uint64_t string_size = 0;
};

class Parser {
 public:
  explicit Parser(const ByteReader& read) : read_(read) {}

  Result<ElfFile> parse() {
    SBX_CHECK_OK(read_headers());
    ElfFile file;
    file.machine = header_.e_machine;
    if (const Elf64_Phdr* interpreter = find(PT_INTERP)) {
      if (interpreter->p_filesz > kMaxString + 1) return beyond_bounds("bytes of PT_INTERP");
      SBX_TRY(file.interpreter, string_at(interpreter->p_offset, interpreter->p_filesz));
    }
    const Elf64_Phdr* segment = find(PT_DYNAMIC);
    if (segment == nullptr) return file;
    SBX_TRY(const Dynamic dynamic, read_dynamic(*segment));
    SBX_CHECK_OK(read_strings(dynamic, file));
    return file;
  }

 private:
  Status read_headers() {
    if (read_(0, &header_, sizeof(header_)) != sizeof(header_)) return malformed("too short");
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return malformed("no magic number");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB) {
      return malformed("not 64-bit little-endian");
    }
    if (header_.e_machine != EM_X86_64 && header_.e_machine != EM_AARCH64) {
      return malformed("another machine");
    }
    if (header_.e_type != ET_EXEC && header_.e_type != ET_DYN) return malformed("not executable");
    if (header_.e_phnum == 0) return {};
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) return malformed("e_phentsize");
    if (header_.e_phnum > kMaxHeaders) return beyond_bounds("program headers");
    headers_.resize(header_.e_phnum);
    const std::size_t size = headers_.size() * sizeof(Elf64_Phdr);
    if (read_(header_.e_phoff, headers_.data(), size) != size) return malformed("e_phoff");
    return {};
  }

  const Elf64_Phdr* find(Elf64_Word type) const {
    const auto at = std::find_if(headers_.begin(), headers_.end(),
                                 [type](const Elf64_Phdr& h) { return h.p_type == type; });
    return at == headers_.end() ? nullptr : &*at;
  }

  Result<Dynamic> read_dynamic(const Elf64_Phdr& segment) const {
    if (segment.p_filesz > kMaxDynamic * sizeof(Elf64_Dyn)) return beyond_bounds("dynamic entries");
    std::vector<Elf64_Dyn> entries(segment.p_filesz / sizeof(Elf64_Dyn));
    const std::size_t size = entries.size() * sizeof(Elf64_Dyn);
    if (read_(segment.p_offset, entries.data(), size) != size) return malformed("PT_DYNAMIC");
    Dynamic dynamic;
    for (const Elf64_Dyn& entry : entries) {
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED) {
        if (dynamic.needed.size() == kMaxNeeded) return beyond_bounds("libraries");
        dynamic.needed.push_back(entry.d_un.d_val);
      }
      if (entry.d_tag == DT_RPATH) dynamic.rpath = entry.d_un.d_val;
      if (entry.d_tag == DT_RUNPATH) dynamic.runpath = entry.d_un.d_val;
      if (entry.d_tag == DT_STRTAB) dynamic.string_table = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) dynamic.string_size = entry.d_un.d_val;
    }
    return dynamic;
  }

  Status read_strings(const Dynamic& dynamic, ElfFile& file) const {
    if (dynamic.needed.empty()) return {};
    const std::optional<std::uint64_t> table =
        dynamic.string_table ? file_offset(*dynamic.string_table) : std::nullopt;
    if (!table) return malformed("DT_STRTAB");
    const auto string_of = [&](std::uint64_t index) -> Result<std::string> {
      std::uint64_t offset = 0;
      if (index >= dynamic.string_size || __builtin_add_overflow(*table, index, &offset)) {
        return malformed("a string outside of DT_STRTAB");
      }
      return string_at(offset, dynamic.string_size - index);
    };
    for (const std::uint64_t index : dynamic.needed) {
      SBX_TRY(std::string name, string_of(index));
      if (name.empty()) return malformed("an empty DT_NEEDED");
      file.needed.push_back(std::move(name));
    }
    if (dynamic.rpath) {
      SBX_TRY(const std::string paths, string_of(*dynamic.rpath));
      append_paths(paths, file.rpath);
    }
    if (dynamic.runpath) {
      SBX_TRY(const std::string paths, string_of(*dynamic.runpath));
      append_paths(paths, file.runpath);
    }
    return {};
  }

  static void append_paths(std::string_view paths, std::vector<std::string>& to) {
    for (const std::string_view path : split(paths, ':')) {
      if (!path.empty()) to.emplace_back(path);
    }
  }

  std::optional<std::uint64_t> file_offset(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : headers_) {
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
      const std::uint64_t delta = address - segment.p_vaddr;
      std::uint64_t offset = 0;
      if (delta < segment.p_filesz && !__builtin_add_overflow(segment.p_offset, delta, &offset)) {
        return offset;
      }
    }
    return std::nullopt;
  }

  // A terminated string of at most `limit` bytes with its terminator.
  Result<std::string> string_at(std::uint64_t offset, std::uint64_t limit) const {
    std::string text;
    std::array<char, 256> chunk = {};
    while (text.size() <= kMaxString && text.size() < limit) {
      const std::size_t want =
          static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size(), limit - text.size()));
      std::uint64_t from = 0;
      if (__builtin_add_overflow(offset, text.size(), &from)) return malformed("an offset");
      const std::size_t got = read_(from, chunk.data(), want);
      if (got == 0) return malformed("a string beyond the end of the file");
      const std::size_t length = ::strnlen(chunk.data(), got);
      text.append(chunk.data(), length);
      if (length < got) {
        if (text.size() > kMaxString) break;
        return text;
      }
    }
    return malformed("a string without an end");
  }

  const ByteReader& read_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Phdr> headers_;
};

constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::string_view kNewMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kOldHeaderSize = 16;  // magic, padding, count
constexpr std::size_t kOldEntrySize = 12;
constexpr std::size_t kNewHeaderSize = 48;
constexpr std::size_t kNewEntrySize = 24;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

std::optional<std::string_view> text_at(std::string_view bytes, std::uint32_t at) {
  if (at >= bytes.size()) return std::nullopt;
  const std::string_view rest = bytes.substr(at, kMaxString + 1);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  return rest.substr(0, end);
}

// FLAG_X8664_LIB64 and FLAG_AARCH64_LIB64, each with FLAG_ELF_LIBC6, of glibc's ldconfig.h.
std::uint16_t machine_of(std::uint32_t flags) {
  switch (flags & 0xffff) {
    case 0x0303:
      return kElfMachineX86_64;
    case 0x0a03:
      return kElfMachineAarch64;
    default:
      return 0;
  }
}

}  // namespace

ByteReader reader_of(int fd) {
  return [fd](std::uint64_t offset, void* to, std::size_t size) -> std::size_t {
    if (offset > static_cast<std::uint64_t>(INT64_MAX)) return 0;
    const ssize_t got = ::pread(fd, to, size, static_cast<off_t>(offset));
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  };
}

Result<ElfFile> read_elf(const ByteReader& read) { return Parser(read).parse(); }

std::vector<LdCacheEntry> read_ld_cache(std::string_view bytes) {
  std::vector<LdCacheEntry> entries;
  if (bytes.starts_with(kOldMagic) && bytes.size() >= kOldHeaderSize) {
    const std::uint64_t old_size =
        kOldHeaderSize + std::uint64_t{number_at(bytes, 12)} * kOldEntrySize;
    const std::uint64_t start = (old_size + 7) & ~std::uint64_t{7};
    bytes.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(start, bytes.size())));
  }
  if (bytes.size() < kNewHeaderSize || !bytes.starts_with(kNewMagic)) return entries;
  const std::size_t room = (bytes.size() - kNewHeaderSize) / kNewEntrySize;
  const std::size_t count = std::min<std::size_t>(number_at(bytes, 20), room);
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kNewHeaderSize + i * kNewEntrySize;
    const auto soname = text_at(bytes, number_at(bytes, at + 4));
    const auto path = text_at(bytes, number_at(bytes, at + 8));
    if (soname && path && path->front() == '/') {
      entries.push_back({*soname, *path, machine_of(number_at(bytes, at))});
    }
  }
  return entries;
}

}  // namespace sbx
