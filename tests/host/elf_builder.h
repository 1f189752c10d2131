// SPDX-License-Identifier: Apache-2.0
// Makes small ELF64 files as bytes: well-formed ones for the closure, and a base from which hostile
// ones are bent. Not runnable; only what a loader reads before it maps anything.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace sbx::test {

struct ElfRecipe {
  std::string interpreter;
  std::vector<std::string> needed;
  std::string rpath;
  std::string runpath;
  std::uint16_t machine = EM_X86_64;
};

// Where the parts of a built file lie, for bending them.
struct ElfLayout {
  static constexpr std::size_t kHeaders = sizeof(Elf64_Ehdr);  // PT_LOAD, PT_DYNAMIC, [PT_INTERP]
  std::size_t dynamic = 0;
  std::size_t strings = 0;
};

inline std::string build_elf(const ElfRecipe& recipe, ElfLayout* layout = nullptr) {
  std::string strings(1, '\0');
  const auto intern = [&](const std::string& text) {
    const std::size_t at = strings.size();
    strings += text;
    strings += '\0';
    return at;
  };
  std::vector<Elf64_Dyn> dynamic;
  const auto entry = [&](Elf64_Sxword tag, std::uint64_t value) {
    Elf64_Dyn one = {};
    one.d_tag = tag;
    one.d_un.d_val = value;
    dynamic.push_back(one);
  };
  for (const std::string& name : recipe.needed) entry(DT_NEEDED, intern(name));
  if (!recipe.rpath.empty()) entry(DT_RPATH, intern(recipe.rpath));
  if (!recipe.runpath.empty()) entry(DT_RUNPATH, intern(recipe.runpath));
  const std::size_t interpreter = intern(recipe.interpreter);
  const std::size_t header_count = recipe.interpreter.empty() ? 2 : 3;
  const std::size_t dynamic_at = sizeof(Elf64_Ehdr) + header_count * sizeof(Elf64_Phdr);
  const std::size_t strings_at = dynamic_at + (dynamic.size() + 3) * sizeof(Elf64_Dyn);
  constexpr std::uint64_t kBase = 0x10000;
  entry(DT_STRTAB, kBase + strings_at);
  entry(DT_STRSZ, strings.size());
  entry(DT_NULL, 0);

  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = recipe.machine;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<Elf64_Half>(header_count);
  std::vector<Elf64_Phdr> segments(header_count);
  segments[0].p_type = PT_LOAD;
  segments[0].p_vaddr = kBase;
  segments[0].p_filesz = strings_at + strings.size();
  segments[1].p_type = PT_DYNAMIC;
  segments[1].p_offset = dynamic_at;
  segments[1].p_filesz = dynamic.size() * sizeof(Elf64_Dyn);
  if (header_count == 3) {
    segments[2].p_type = PT_INTERP;
    segments[2].p_offset = strings_at + interpreter;
    segments[2].p_filesz = recipe.interpreter.size() + 1;
  }
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char*>(segments.data()),
               segments.size() * sizeof(Elf64_Phdr));
  bytes.append(reinterpret_cast<const char*>(dynamic.data()), dynamic.size() * sizeof(Elf64_Dyn));
  bytes += strings;
  if (layout != nullptr) *layout = {dynamic_at, strings_at};
  return bytes;
}

// Overwrites a field of a built file.
template <typename T>
std::string bend(std::string bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
  return bytes;
}

}  // namespace sbx::test
