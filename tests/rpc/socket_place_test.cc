// SPDX-License-Identifier: Apache-2.0
#include "rpc/socket_place.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/temp_dir.h"

namespace sbx {
namespace {

namespace fs = std::filesystem;

// A server was killed, and a command had time to move what stands on the way.
TEST(SocketPlace, WhatIsLeftIsRemovedInTheVeryDirectoryOnly) {
  std::string base = (fs::temp_directory_path() / "sbx-place-XXXXXX").string();
  ASSERT_NE(mkdtemp(base.data()), nullptr);
  const std::string own = base + "/way/own";
  fs::create_directories(own);
  fs::permissions(own, fs::perms::owner_all);
  std::string told;
  std::string mark;
  {
    Result<Directory> directory = open_socket_directory(own + "/s");
    ASSERT_TRUE(directory.ok());
    SocketPlace place(std::move(directory).value(), "s");
    OwnedFd listener;
    bool is_taken = false;
    ASSERT_TRUE(place.listen(listener, is_taken).ok());
    told = place.place_mark();
    mark = place.mark();
    fs::rename(base + "/way", base + "/moved");
    fs::create_directories(base + "/other/own");
    fs::create_directory_symlink(base + "/other", base + "/way");
    fs::permissions(base + "/other/own", fs::perms::owner_all);
    {
      Result<Directory> another = open_socket_directory(base + "/other/own/s");
      ASSERT_TRUE(another.ok());
      SocketPlace unserved(std::move(another).value(), "s");
      OwnedFd closed;
      ASSERT_TRUE(unserved.listen(closed, is_taken).ok());
      closed.reset();
      SocketPlace::remove_left(told, {});
      EXPECT_TRUE(fs::exists(base + "/other/own/s"));
    }
    SocketPlace::remove_left(told, {});
    SocketPlace::remove_left(told, {mark});
    EXPECT_TRUE(fs::is_empty(base + "/other/own"));
    fs::remove_all(base + "/other/own");
    SocketPlace::remove_left(told, {});
    EXPECT_FALSE(fs::exists(base + "/other/own"));  // it makes none either
    EXPECT_TRUE(fs::exists(base + "/moved/own/s"));
    fs::remove(base + "/way");
    fs::rename(base + "/moved", base + "/way");
    SocketPlace::remove_left(told, {"0 0"});
    EXPECT_TRUE(fs::exists(own + "/s"));
    SocketPlace::remove_left(told, {mark});
    EXPECT_FALSE(fs::exists(own + "/s"));
  }
  fs::remove_all(base);
}

// A directory in `top`, with these permissions and this owner's: "" where we may not give it away.
std::string made(const test::TempDir& top, const std::string& name, mode_t mode, uid_t owner) {
  const std::string path = top.directory(name);
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
  return owner == geteuid() || chown(path.c_str(), owner, -1) == 0 ? path : "";
}

struct Unsafe {
  const char* name;
  mode_t mode;
  uid_t owner;
};
const Unsafe kUnsafe[] = {{"open", 0777, geteuid()},
                          {"of-a-group", 0770, geteuid()},
                          {"theirs", 0755, 65534},
                          {"theirs-alone", 0700, 65534}};

TEST(SocketPlace, LiesInNoDirectoryThatAnotherUserMayChange) {
  const test::TempDir top;
  EXPECT_TRUE(open_socket_directory(made(top, "own", 0755, geteuid()) + "/s").ok());
  for (const Unsafe& directory : kUnsafe) {
    const std::string path = made(top, directory.name, directory.mode, directory.owner);
    if (path.empty()) continue;
    EXPECT_FALSE(open_socket_directory(path + "/s").ok()) << directory.name;
  }
  EXPECT_FALSE(open_socket_directory(top.symlink("link", "own") + "/s").ok());
}

TEST(SocketPlace, OfSessionsIsOurOwnAndClosed) {
  const test::TempDir top;
  made(top, "sbx", 0700, geteuid());
  EXPECT_TRUE(open_runtime_directory(top.path()).ok());
  made(top, "sbx", 0750, geteuid());
  EXPECT_FALSE(open_runtime_directory(top.path()).ok());
  if (made(top, "sbx", 0700, 65534).empty()) GTEST_SKIP() << "root alone gives one away";
  EXPECT_FALSE(open_runtime_directory(top.path()).ok());
}

TEST(SocketPlace, OfSessionsIsMadeInADirectoryOfOurOwnAlone) {
  const test::TempDir top;
  const std::string own = made(top, "own", 0755, geteuid()) + "/sbx";
  make_runtime_directory(own);
  EXPECT_TRUE(std::filesystem::is_directory(own));
  for (const Unsafe& directory : kUnsafe) {
    const std::string path = made(top, directory.name, directory.mode, directory.owner);
    if (path.empty()) continue;
    make_runtime_directory(path + "/sbx");
    EXPECT_TRUE(std::filesystem::is_empty(path)) << directory.name;
  }
}

}  // namespace
}  // namespace sbx
