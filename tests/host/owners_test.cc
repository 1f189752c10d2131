// SPDX-License-Identifier: Apache-2.0
// Trees with files of other groups, and with places that cannot be told.
#include "host/owners.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "support/temp_dir.h"

namespace sbx {
namespace {

std::optional<bool> look_to_the_end(const std::string& root, std::size_t at_once) {
  OwnerLook look({root, "/nowhere"});
  for (int i = 0; i < 10'000; ++i) {
    if (const auto found = look.look(at_once)) return found;
  }
  return std::nullopt;
}

// A group that files can be given to; the own one where there is none.
gid_t other_group() {
  if (geteuid() == 0) return 7;
  std::array<gid_t, 64> groups{};
  const int count = getgroups(groups.size(), groups.data());
  for (int i = 0; i < count; ++i) {
    if (groups[static_cast<std::size_t>(i)] != getegid())
      return groups[static_cast<std::size_t>(i)];
  }
  return getegid();
}

TEST(Owners, ATreeIsLookedAtInPieces) {
  const test::TempDir top;
  for (const char* name : {"a/1", "a/2", "a/b/3", "c/4"}) top.file(name, "x");
  EXPECT_EQ(OwnerLook({top.path()}).look(5), std::nullopt);
  EXPECT_EQ(look_to_the_end(top.path(), 1), false);
  EXPECT_EQ(look_to_the_end(top.path(), 1000), false);
  EXPECT_EQ(look_to_the_end("/nowhere", 1), false);
}

TEST(Owners, WhatIsOfAnotherGroupIsFoundWhereTheCallerMayWriteIt) {
  const test::TempDir top;
  const std::string file = top.file("a/b/file", "x");
  const gid_t group = other_group();
  if (group == getegid()) GTEST_SKIP() << "no second group to give a file to";
  ASSERT_EQ(chown(file.c_str(), static_cast<uid_t>(-1), group), 0);
  EXPECT_EQ(look_to_the_end(top.path(), 1), true);
  EXPECT_EQ(OwnerLook({file}).look(1), true);
  ASSERT_EQ(unlink(file.c_str()), 0);
  ASSERT_EQ(symlink("x", file.c_str()), 0);
  ASSERT_EQ(lchown(file.c_str(), static_cast<uid_t>(-1), group), 0);
  EXPECT_EQ(look_to_the_end(top.path(), 1), true) << "a symlink can be moved";
  EXPECT_EQ(OwnerLook({file}).look(2), false) << "but not written";
}

TEST(Owners, WhatTheCallerMayOnlyMoveIsFoundToo) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const test::TempDir top;
  const std::string file = top.file("a/file", "x");
  ASSERT_EQ(chown(file.c_str(), 7, 7), 0);
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(look_to_the_end(top.path(), 1), true);
  ASSERT_EQ(chmod((top.path() + "/a").c_str(), 0555), 0);
  EXPECT_EQ(look_to_the_end(top.path(), 1), true) << "its owner can open the directory up";
  EXPECT_EQ(OwnerLook({file}).look(2), false);
}

TEST(Owners, APlaceThatCannotBeToldMayHoldAnything) {
  const test::TempDir top;
  std::string way;
  for (int i = 0; i < 520; ++i) way += "d/";
  top.directory(way);
  EXPECT_EQ(look_to_the_end(top.path(), 100), true);
  const test::TempDir other;
  other.directory("closed");
  const std::string closed = other.path() + "/closed";
  ASSERT_EQ(chmod(closed.c_str(), 0), 0);
  EXPECT_EQ(look_to_the_end(other.path(), 1), geteuid() != 0) << "its owner can open it";
  ASSERT_EQ(chmod(closed.c_str(), 0700), 0);
}

}  // namespace
}  // namespace sbx
