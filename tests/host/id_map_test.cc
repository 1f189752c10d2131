// SPDX-License-Identifier: Apache-2.0
// A tree in which nothing is anybody's: what root gets of it, and who may have one.
#include "host/id_map.h"

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

Result<OwnedFd> tree_of(const Result<IdMap>& map, const std::string& path,
                        std::uint64_t attributes) {
  if (!map.ok()) return map.error();
  const OwnedFd directory(open(path.c_str(), O_PATH | O_CLOEXEC));
  return map.value().tree(directory.get(), attributes);
}

Result<OwnedFd> unowned_tree(const std::string& path, std::uint64_t attributes) {
  return tree_of(IdMap::nobody(), path, attributes);
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

class AsRoot : public testing::Test {
 protected:
  static constexpr Owner kOwner{1234, 1235};

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "for root";
    ASSERT_EQ(chown(dir_.path().c_str(), kOwner.uid, kOwner.gid), 0);
    give("theirs", kOwner.uid, kOwner.gid);
    give("roots", 0, 0);
    give("others", 77, 78);
    Result<OwnedFd> tree = tree_of(IdMap::as_root(kOwner), dir_.path(), 0);
    if (!tree.ok()) GTEST_SKIP() << tree.error().message;
    tree_ = std::move(tree).value();
  }
  void give(const char* name, uid_t uid, gid_t gid) {
    ASSERT_EQ(chown(dir_.file(name, "", 0600).c_str(), uid, gid), 0);
  }
  static Owner owner(int directory, const char* name) {
    struct stat info {};
    EXPECT_EQ(fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW), 0);
    return {info.st_uid, info.st_gid};
  }

  test::TempDir dir_;
  OwnedFd tree_;
};

TEST_F(AsRoot, TheOwnersFilesAreRootsAndRootsTheOwners) {
  EXPECT_EQ(owner(tree_.get(), "theirs"), Owner());
  EXPECT_EQ(owner(tree_.get(), "roots"), kOwner);
  EXPECT_EQ(owner(tree_.get(), "others"), (Owner{77, 78}));
}

TEST_F(AsRoot, WhatRootMakesIsTheOwners) {
  ASSERT_EQ(open_in(tree_.get(), "new", O_WRONLY | O_CREAT), 0);
  EXPECT_EQ(owner(tree_.get(), "new"), Owner());
  EXPECT_EQ(owner(AT_FDCWD, (dir_.path() + "/new").c_str()), kOwner);
}

TEST_F(AsRoot, TheFirstAndTheLastIdToo) {
  for (const Owner& each : {Owner{0, 0}, Owner{1, 1}, Owner{4'294'967'294, 4'294'967'294}}) {
    EXPECT_TRUE(IdMap::as_root(each).ok()) << each.uid;
  }
}

TEST_F(Unowned, IsNotForUsers) {
  if (geteuid() == 0) GTEST_SKIP() << "for an unprivileged user";
  const Result<OwnedFd> tree = unowned_tree(dir_.path(), 0);
  ASSERT_FALSE(tree.ok());
  EXPECT_EQ(tree.error().code, ErrorCode::kLayerUnavailable);
}

}  // namespace
}  // namespace sbx
