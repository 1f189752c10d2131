// SPDX-License-Identifier: Apache-2.0
// Paths as this very process means them, and as one that has gone would have.
#include "trace/inside_paths.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include "support/temp_dir.h"

namespace sbx {
namespace {

using test::TempDir;

std::uint32_t own() { return static_cast<std::uint32_t>(getpid()); }
std::uint64_t address(const void* at) { return reinterpret_cast<std::uint64_t>(at); }
constexpr std::uint32_t kNobody = 0x7ffffff0;

TEST(ReadPath, ReadsToTheEndOfTheText) {
  const std::string text = "/a/b c";
  EXPECT_EQ(read_path(own(), address(text.c_str())), text);
  EXPECT_EQ(read_path(own(), address("")), "");
  const std::string longest(PATH_MAX - 1, 'x');
  EXPECT_EQ(read_path(own(), address(longest.c_str())), longest);
}

TEST(ReadPath, RefusesWhatIsTooLongOrNotThere) {
  const std::string too_long(PATH_MAX, 'x');
  EXPECT_EQ(read_path(own(), address(too_long.c_str())), std::nullopt);
  EXPECT_EQ(read_path(own(), 8), std::nullopt);
  EXPECT_EQ(read_path(kNobody, address("/a")), std::nullopt);
}

TEST(ReadPath, StopsAtTheEndOfTheMemory) {
  constexpr std::size_t kPage = 4096;
  void* const memory =
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(munmap(static_cast<char*>(memory) + kPage, kPage), 0);
  char* const last = static_cast<char*>(memory) + kPage - 4;
  std::memcpy(last, "/ab", 4);
  EXPECT_EQ(read_path(own(), address(last)), "/ab");
  std::copy_n("/abc", 4, last);
  EXPECT_EQ(read_path(own(), address(last)), std::nullopt);
  munmap(memory, kPage);
}

TEST(ReadWord, ReadsEightBytes) {
  const std::uint64_t word = 0x0123456789abcdef;
  EXPECT_EQ(read_word(own(), address(&word)), word);
  EXPECT_EQ(read_word(own(), 8), std::nullopt);
}

TEST(AbsolutePath, BeginsWhereTheThreadIs) {
  const TempDir directory;
  const OwnedFd fd(open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  char cwd[PATH_MAX] = "";
  ASSERT_NE(getcwd(cwd, sizeof cwd), nullptr);
  EXPECT_EQ(absolute_path(own(), fd.get(), "/x/../y"), "/x/../y");
  EXPECT_EQ(absolute_path(own(), AT_FDCWD, "x"), std::string(cwd) + "/x");
  EXPECT_EQ(absolute_path(own(), fd.get(), "x/y"), directory.path() + "/x/y");
  EXPECT_EQ(absolute_path(own(), fd.get(), ""), directory.path());
}

TEST(AbsolutePath, IsNoneWhereThereIsNoPlace) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const OwnedFd read(ends[0]);
  const OwnedFd write(ends[1]);
  EXPECT_EQ(absolute_path(own(), read.get(), "x"), std::nullopt);
  EXPECT_EQ(absolute_path(own(), 9999, "x"), std::nullopt);
  EXPECT_EQ(absolute_path(kNobody, AT_FDCWD, "x"), std::nullopt);
}

TEST(OpenBelow, NeverLeadsOutOfTheRoot) {
  const TempDir directory;
  directory.directory("etc");
  directory.symlink("absolute", "/etc");
  directory.symlink("up", "../../../../etc");
  const OwnedFd root(open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const char* path : {"/etc", "/absolute", "/up", "/../etc", "/etc/../../etc"}) {
    const OwnedFd found = open_below(root, path, O_PATH);
    ASSERT_TRUE(found.is_open()) << path;
    EXPECT_EQ(path_of(found.get()), directory.path() + "/etc") << path;
  }
  EXPECT_FALSE(open_below(root, "/absolute/passwd", O_PATH).is_open());
  EXPECT_EQ(errno, ENOENT);
}

TEST(OpenBelow, DoesNotFollowTheLinksOfProc) {
  const OwnedFd root = open_root(own());
  ASSERT_TRUE(root.is_open());
  EXPECT_TRUE(open_below(root, "/proc/self/status", O_PATH).is_open());
  EXPECT_FALSE(open_below(root, "/proc/self/root/etc", O_PATH).is_open());
}

TEST(OpenRoot, IsNoneOfAThreadThatHasGone) { EXPECT_FALSE(open_root(kNobody).is_open()); }

TEST(LinkTarget, IsWhatTheLinkSays) {
  const TempDir directory;
  directory.symlink("link", "some/where");
  const OwnedFd root(open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(link_target(open_below(root, "/link", O_PATH | O_NOFOLLOW)), "some/where");
  EXPECT_EQ(link_target(root), std::nullopt);
}

}  // namespace
}  // namespace sbx
