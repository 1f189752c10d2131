// SPDX-License-Identifier: Apache-2.0
#include "rpc/socket_place.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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

}  // namespace
}  // namespace sbx
