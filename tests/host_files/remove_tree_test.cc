// SPDX-License-Identifier: Apache-2.0
// What a command may leave behind → gone, and nothing outside touched.
#include "host_files/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "base/owned_fd.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

bool stands(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

unsigned mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0);
  return info.st_mode & 07777U;
}

void expect_removed(const std::string& path) {
  EXPECT_TRUE(remove_tree(path));
  EXPECT_FALSE(stands(path));
}

// `depth` directories within each other below `top`, a file in each. Paths would grow too long.
void dig(const std::string& top, int depth) {
  OwnedFd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < depth; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "inner", 0755), 0);
    const OwnedFd file(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_TRUE(file.is_open());
    at.reset(::openat(at.get(), "inner", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.is_open());
  }
}

TEST(RemoveTree, IsContentWhenNothingIsThere) {
  const test::TempDir dir;
  EXPECT_TRUE(remove_tree(dir.at("missing")));
}

TEST(RemoveTree, RemovesAnEmptyDirectory) {
  const test::TempDir dir;
  expect_removed(dir.directory("top"));
}

TEST(RemoveTree, RemovesFilesFifosSocketsAndLinks) {
  const test::TempDir dir;
  dir.file("top/a/file", "x", 0000);
  dir.file("top/.hidden", "x");
  dir.file("top/...", "x");
  dir.symlink("top/dangling", "/nonexistent");
  ASSERT_EQ(::mkfifo(dir.at("top/a/fifo").c_str(), 0600), 0);
  const OwnedFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct sockaddr_un address {};
  address.sun_family = AF_UNIX;
  dir.at("top/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<struct sockaddr*>(&address), sizeof address), 0);
  expect_removed(dir.at("top"));
}

TEST(RemoveTree, RemovesATreeDeeperThanAnyPath) {
  const test::TempDir dir;
  for (const char* branch : {"top/a", "top/b", "top/b/c"}) dig(dir.directory(branch), 1500);
  expect_removed(dir.at("top"));
}

TEST(RemoveTree, RemovesATreeWithManyDirectoriesOnEveryLevel) {
  const test::TempDir dir;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      for (int k = 0; k < 6; ++k) {
        dir.directory("top/" + std::to_string(i) + "/" + std::to_string(j) + "/" +
                      std::to_string(k) + "/leaf");
      }
    }
  }
  expect_removed(dir.at("top"));
}

TEST(RemoveTree, RemovesDirectoriesThatTheirOwnerMayNotEnterOrWrite) {
  const test::TempDir dir;
  for (const char* path : {"top/shut/inner/deepest", "top/shut/other", "top/fixed/inner/deepest"}) {
    dir.directory(path);
  }
  for (const char* path :
       {"top/shut/inner/deepest", "top/shut/inner", "top/shut/other", "top/shut"}) {
    ASSERT_EQ(::chmod(dir.at(path).c_str(), 0000), 0);
  }
  for (const char* path : {"top/fixed/inner", "top/fixed"}) {
    ASSERT_EQ(::chmod(dir.at(path).c_str(), 0500), 0);
  }
  expect_removed(dir.at("top"));
}

TEST(RemoveTree, RemovesATopThatTheCommandHasShut) {
  const test::TempDir dir;
  for (const mode_t mode : {0000, 0100, 0500}) {
    dir.file("top/inner/file", "x");
    ASSERT_EQ(::chmod(dir.at("top").c_str(), mode), 0);
    expect_removed(dir.at("top"));
  }
}

TEST(RemoveTree, IsNotMisledByTheNamesThatItUsesItself) {
  const test::TempDir dir;
  for (const char* name : {"sbx-0", "sbx-1", "sbx-3"}) {
    dir.file(std::string("top/") + name + "/sbx-0/sbx-1/file", "x");
  }
  dir.file("top/sbx-2", "x");
  expect_removed(dir.at("top"));
}

TEST(RemoveTree, LeavesWhatSymlinksLeadTo) {
  const test::TempDir dir;
  dir.file("outside/file", "kept");
  ASSERT_EQ(::chmod(dir.at("outside").c_str(), 0750), 0);
  dir.directory("top/inner");
  dir.symlink("top/link", dir.at("outside"));
  dir.symlink("top/inner/link", dir.at("outside"));
  dir.symlink("top/inner/up", "..");
  dir.symlink("top/inner/file", dir.at("outside/file"));
  expect_removed(dir.at("top"));
  EXPECT_EQ(test::slurp(dir.at("outside/file")), "kept");
  EXPECT_EQ(mode_of(dir.at("outside")), 0750U);
}

TEST(RemoveTree, LeavesTheOtherNamesOfAFile) {
  const test::TempDir dir;
  dir.file("outside", "kept", 0640);
  dir.directory("top");
  ASSERT_EQ(::link(dir.at("outside").c_str(), dir.at("top/name").c_str()), 0);
  expect_removed(dir.at("top"));
  EXPECT_EQ(test::slurp(dir.at("outside")), "kept");
  EXPECT_EQ(mode_of(dir.at("outside")), 0640U);
}

TEST(RemoveTree, RefusesATopThatIsNoDirectory) {
  const test::TempDir dir;
  dir.file("outside/file", "kept");
  ASSERT_EQ(::chmod(dir.at("outside").c_str(), 0750), 0);
  EXPECT_FALSE(remove_tree(dir.symlink("link", dir.at("outside"))));
  EXPECT_FALSE(remove_tree(dir.file("file", "kept")));
  EXPECT_EQ(test::slurp(dir.at("outside/file")), "kept");
  EXPECT_EQ(mode_of(dir.at("outside")), 0750U);
  EXPECT_EQ(test::slurp(dir.at("file")), "kept");
}

}  // namespace
}  // namespace sbx
