// SPDX-License-Identifier: Apache-2.0
// Tests of host/globs: patterns held against names alone.
#include "host/globs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/paths.h"
#include "support/temp_dir.h"

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

TEST(Globs, EnterNoDirectoryThatIsHiddenAsAWhole) {
  const test::TempDir place;
  for (const char* path : {"/a/.env", "/a/b/.env", "/ab/.env"}) {
    const std::string whole = place.path() + path;
    std::filesystem::create_directories(std::string(parent_of(whole)));
    std::ofstream(whole).put('x');
  }
  const auto found = [&](const std::set<std::string>& hidden, const char* pattern) {
    return expand_glob({place.path(), pattern, hidden}, "").value();
  };
  using Those = std::vector<std::string>;
  EXPECT_EQ(found({}, "**/.env"), (Those{"a/.env", "a/b/.env", "ab/.env"}));
  EXPECT_EQ(found({place.path() + "/a/b"}, "**/.env"), (Those{"a/.env", "ab/.env"}));
  EXPECT_EQ(found({place.path() + "/a"}, "**/.env"), (Those{"ab/.env"}));
  EXPECT_EQ(found({place.path() + "/a"}, "a*"), (Those{"a", "ab"}));  // it matches itself
  EXPECT_EQ(found({"a"}, "a/.env"), (Those{"a/.env"}));               // whole paths only
}

TEST(Globs, AreKnownByWhatIsHiddenToo) {
  const test::TempDir place;
  std::filesystem::create_directories(place.path() + "/a/x");
  Expansions known;
  EXPECT_EQ(known.of({place.path(), "*/x"}, "").value().size(), 1U);
  EXPECT_EQ(known.of({place.path(), "*/x", {place.path() + "/a"}}, "").value().size(), 0U);
}

}  // namespace
}  // namespace sbx
