// SPDX-License-Identifier: Apache-2.0
// A tree in which nothing is anybody's: what root gets of it, and who may have one.
#include "host/unowned.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "support/temp_dir.h"
#include "sys/calls.h"

namespace sbx {
namespace {

int open_in(int tree, const char* name, int flags) {
  const int fd = openat(tree, name, flags | O_CLOEXEC);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

class Unowned : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
    dir_.file("shut", "", 0640);
    dir_.file("open", "", 0644);
    dir_.file("loose", "", 0666);
  }
  test::TempDir dir_;
};

Result<OwnedFd> unowned_tree(const std::string& path, std::uint64_t attributes) {
  SBX_TRY(const UnownedMap map, UnownedMap::make());
  return map.tree(path, attributes);
}

TEST_F(Unowned, RootGetsWhatOthersMay) {
  const Result<OwnedFd> tree = unowned_tree(dir_.path(), sys::kMountAttrNoexec);
  if (!tree.ok()) GTEST_SKIP() << tree.error().message;
  const int fd = tree.value().get();
  EXPECT_EQ(open_in(fd, "shut", O_RDONLY), EACCES);
  EXPECT_EQ(open_in(fd, "open", O_RDONLY), 0);
  EXPECT_EQ(open_in(fd, "open", O_WRONLY), EACCES);
  EXPECT_EQ(open_in(fd, "loose", O_RDONLY), 0);
  EXPECT_EQ(open_in(fd, "loose", O_WRONLY), EACCES);  // the kernel changes nothing that is nobody's
}

TEST_F(Unowned, HasItsAttributes) {
  const Result<OwnedFd> tree = unowned_tree(dir_.path(), sys::kMountAttrReadOnly);
  if (!tree.ok()) GTEST_SKIP() << tree.error().message;
  struct statvfs info {};
  ASSERT_EQ(fstatvfs(tree.value().get(), &info), 0);
  EXPECT_EQ(info.f_flag & (ST_RDONLY | ST_NOEXEC), ST_RDONLY);
}

TEST_F(Unowned, IsNotForUsers) {
  if (geteuid() == 0) GTEST_SKIP() << "for an unprivileged user";
  const Result<OwnedFd> tree = unowned_tree(dir_.path(), 0);
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().code, ErrorCode::kLayerUnavailable);
}

}  // namespace
}  // namespace sbx
