// SPDX-License-Identifier: Apache-2.0
// Tests of host/globs: patterns held against names alone.
#include "host/globs.h"

#include <gtest/gtest.h>

#include <string>

namespace sbx {
namespace {

TEST(Globs, HoldWhatMatchesAndWhatLiesInIt) {
  for (const char* path : {"/w/.env", "/w/a/.env", "/w/a/b/.env/c"}) {
    EXPECT_TRUE(glob_holds(whole_glob("/w", "**/.env"), path)) << path;
  }
  for (const char* path : {"/w", "/w/a", "/w/.envx", "/v/.env", "/wx/.env"}) {
    EXPECT_FALSE(glob_holds(whole_glob("/w", "**/.env"), path)) << path;
  }
  EXPECT_TRUE(glob_holds(whole_glob("/", "a*/**/b/*.c/**"), "/ab/x/b/y/b/z.c/d"));
  EXPECT_FALSE(glob_holds(whole_glob("/", "a*/**/b/*.c"), "/ab/x/b/y/b/z.d"));
  EXPECT_TRUE(glob_holds(whole_glob("/w", "**/a/**/a/b"), "/w/a/a/c/a/b"));
  EXPECT_FALSE(glob_holds(whole_glob("/w", "*/x"), "/w/a/b/x"));
}

TEST(Globs, NoNamesMakeThemTakeLong) {
  std::string path = "/w";
  for (int i = 0; i < 2000; ++i) path += "/a";
  EXPECT_FALSE(glob_holds(whole_glob("/w", "**/a/**/a/**/a/**/a/**/b"), path));
  EXPECT_TRUE(glob_holds(whole_glob("/w", "**/a/**/a/**/a/**/a/**/b"), path + "/b"));
}

}  // namespace
}  // namespace sbx
