// SPDX-License-Identifier: Apache-2.0
// Tests of host/elf: well-formed files, files bent in each field, and ld.so.cache. Every file of
// the fuzz target's corpus is replayed.
#include "host/elf.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/owned_fd.h"
#include "host/elf_builder.h"
#include "support/byte_reader.h"
#include "support/corpus.h"

namespace sbx {
namespace {

using test::bend;
using test::build_elf;
using test::ElfLayout;

const test::ElfRecipe kRecipe = {
    "/lib64/ld-linux-x86-64.so.2", {"libone.so.1", "libtwo.so"}, "", "$ORIGIN/../lib:/opt/lib"};

Result<ElfFile> read(const std::string& bytes) {
  return read_elf(reader_of(std::string_view(bytes)));
}

TEST(Elf, ReadsInterpreterLibrariesAndRunpath) {
  const Result<ElfFile> file = read(build_elf(kRecipe));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file.value().machine, kElfMachineX86_64);
  EXPECT_EQ(file.value().interpreter, "/lib64/ld-linux-x86-64.so.2");
  EXPECT_EQ(file.value().needed, (std::vector<std::string>{"libone.so.1", "libtwo.so"}));
  EXPECT_EQ(file.value().runpath, (std::vector<std::string>{"$ORIGIN/../lib", "/opt/lib"}));
  EXPECT_TRUE(file.value().rpath.empty());
}

TEST(Elf, ReadsBothMachinesAndRefusesOthers) {
  EXPECT_EQ(read(build_elf({"", {"a"}, "", "", EM_AARCH64})).value().machine, kElfMachineAarch64);
  EXPECT_FALSE(read(build_elf({"", {"a"}, "", "", EM_386})).ok());
  EXPECT_FALSE(read(bend(build_elf(kRecipe), EI_CLASS, char{ELFCLASS32})).ok());
  EXPECT_FALSE(read(bend(build_elf(kRecipe), EI_DATA, char{ELFDATA2MSB})).ok());
  EXPECT_FALSE(read("#!/bin/sh\n").ok());
  EXPECT_FALSE(read("").ok());
}

TEST(Elf, ReadsTheProgramThatRunsThisTest) {
  const OwnedFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const Result<ElfFile> file = read_elf(reader_of(self.get()));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_FALSE(file.value().interpreter.empty());
  EXPECT_FALSE(file.value().needed.empty());
}

TEST(Elf, AFileCutShortAnywhereIsRefused) {
  const std::string whole = build_elf(kRecipe);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read(whole.substr(0, size)).ok()) << size;
  }
  EXPECT_TRUE(read(whole).ok());
}

TEST(Elf, EveryByteMayBeAnythingWithoutHarm) {
  const std::string whole = build_elf(kRecipe);
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\x01', '\x7f', '\x80', '\xff'}) {
      refused += read(bend(whole, at, value)).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100);
}

struct Bent {
  const char* what;
  std::size_t at;
  std::uint64_t value;
};

TEST(Elf, OffsetsThatLeadOutOrOverflowAreRefused) {
  ElfLayout layout;
  const std::string whole = build_elf(kRecipe, &layout);
  const std::size_t load = ElfLayout::kHeaders;
  const std::size_t dynamic = load + sizeof(Elf64_Phdr);
  const std::size_t interp = dynamic + sizeof(Elf64_Phdr);
  const std::size_t strtab = layout.dynamic + 3 * sizeof(Elf64_Dyn) + 8;
  const std::size_t needed = layout.dynamic + 8;
  const Bent cases[] = {
      {"e_phoff at the end", offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX},
      {"e_phoff that wraps", offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 40},
      {"PT_DYNAMIC outside", dynamic + offsetof(Elf64_Phdr, p_offset), 1ULL << 62},
      {"PT_DYNAMIC huge", dynamic + offsetof(Elf64_Phdr, p_filesz), UINT64_MAX},
      {"PT_INTERP outside", interp + offsetof(Elf64_Phdr, p_offset), UINT64_MAX - 2},
      {"PT_INTERP huge", interp + offsetof(Elf64_Phdr, p_filesz), UINT64_MAX},
      {"PT_INTERP of nothing", interp + offsetof(Elf64_Phdr, p_filesz), 0},
      {"PT_LOAD that wraps", load + offsetof(Elf64_Phdr, p_offset), UINT64_MAX - 8},
      {"PT_LOAD of nothing", load + offsetof(Elf64_Phdr, p_filesz), 0},
      {"DT_STRTAB outside", strtab, UINT64_MAX},
      {"DT_STRTAB below", strtab, 0},
      {"DT_STRSZ of nothing", strtab + sizeof(Elf64_Dyn), 0},
      {"DT_NEEDED outside", needed, UINT64_MAX},
      {"DT_NEEDED beyond DT_STRSZ", needed, 1ULL << 20},
      {"DT_NEEDED empty", needed, 0},
  };
  for (const Bent& one : cases) {
    EXPECT_FALSE(read(bend(whole, one.at, one.value)).ok()) << one.what;
  }
}

TEST(Elf, CountsAndStringsBeyondTheBoundsAreRefused) {
  const std::string whole = build_elf(kRecipe);
  EXPECT_FALSE(read(bend(whole, offsetof(Elf64_Ehdr, e_phnum), std::uint16_t{0xffff})).ok());
  EXPECT_FALSE(read(bend(whole, offsetof(Elf64_Ehdr, e_phentsize), std::uint16_t{1})).ok());
  EXPECT_FALSE(read(build_elf({"", {std::string(5000, 'a')}, "", ""})).ok());
  EXPECT_TRUE(read(build_elf({"", {std::string(4000, 'a')}, "", ""})).ok());
  EXPECT_FALSE(read(build_elf({"", std::vector<std::string>(600, "a.so"), "", ""})).ok());
}

// --- ld.so.cache ---

void append_number(std::string& bytes, std::uint32_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string build_cache(std::uint32_t count, std::uint32_t flags, std::uint32_t soname_at,
                        std::uint32_t path_at) {
  std::string bytes = "glibc-ld.so.cache1.1";
  append_number(bytes, count);
  bytes.resize(48);
  append_number(bytes, flags);
  append_number(bytes, soname_at);
  append_number(bytes, path_at);
  bytes.resize(72);
  return bytes + std::string("libx.so.1\0/opt/x/libx.so.1\0", 27);
}

TEST(LdCache, ReadsTheNewFormatAloneAndBehindTheOldOne) {
  const std::string fresh = build_cache(1, 0x0303, 72, 82);
  std::string old = "ld.so-1.7.0";
  old.resize(12);
  append_number(old, 1);
  old.resize(32);
  for (const std::string& bytes : {fresh, old + fresh}) {
    const std::vector<LdCacheEntry> entries = read_ld_cache(bytes);
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0].soname, "libx.so.1");
    EXPECT_EQ(entries[0].path, "/opt/x/libx.so.1");
    EXPECT_EQ(entries[0].machine, kElfMachineX86_64);
  }
}

TEST(LdCache, EntriesThatLeadOutAreLeftOut) {
  EXPECT_TRUE(read_ld_cache(build_cache(1, 0x0303, 4000, 82)).empty());
  EXPECT_TRUE(read_ld_cache(build_cache(1, 0x0303, 72, 0xffffffffU)).empty());
  EXPECT_TRUE(read_ld_cache(build_cache(1, 0x0303, 82, 72)).empty()) << "a path that is relative";
  EXPECT_LE(read_ld_cache(build_cache(0xffffffffU, 0x0303, 72, 82)).size(), 3U);
  EXPECT_EQ(read_ld_cache(build_cache(1, 0x0803, 72, 82)).at(0).machine, 0) << "x32";
  std::string old = "ld.so-1.7.0";
  old.resize(12);
  append_number(old, 0xffffffffU);
  EXPECT_TRUE(read_ld_cache(old).empty());
  EXPECT_TRUE(read_ld_cache("").empty());
}

TEST(ElfCorpus, EveryFileIsReplayed) {
  const auto files = corpus_files("elf/corpus");
  EXPECT_GE(files.size(), 5U);
  for (const CorpusFile& file : files) EXPECT_TRUE(fuzz_target_holds(file.bytes)) << file.path;
}

}  // namespace
}  // namespace sbx
