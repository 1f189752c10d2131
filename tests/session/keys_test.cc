// SPDX-License-Identifier: Apache-2.0
// Names of keys, and what a terminal sends for them.
#include "session/keys.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

std::string keys(std::string_view names, bool has_application_cursor = false) {
  const Result<std::string> bytes = key_bytes(names, has_application_cursor);
  return bytes.ok() ? bytes.value() : "error: " + bytes.error().hint;
}

TEST(Keys, AreWhatXtermSends) {
  EXPECT_EQ(keys("Up Escape F1 C-c"), "\x1b[A\x1b\x1bOP\x03");
  EXPECT_EQ(keys("F5 F12 Home Delete PageUp"), "\x1b[15~\x1b[24~\x1b[H\x1b[3~\x1b[5~");
  EXPECT_EQ(keys("Enter Tab Space Backspace"), "\r\t \x7f");
  EXPECT_EQ(keys(""), "");
}

TEST(Keys, TakeModifiers) {
  EXPECT_EQ(keys("C-Left S-Tab M-x C-M-a S-F5"), "\x1b[1;5D\x1b[Z\x1bx\x1b\x01\x1b[15;2~");
  EXPECT_EQ(keys("C-]"), "\x1d");
  EXPECT_EQ(keys("C-Space"), std::string(1, '\0'));
}

TEST(Keys, FollowTheModeOfTheCursorKeys) {
  EXPECT_EQ(keys("Up", true), "\x1bOA");
  EXPECT_EQ(keys("C-Up", true), "\x1b[1;5A");
}

TEST(Keys, OneCharacterStandsForItself) { EXPECT_EQ(keys("a é -"), "a\xc3\xa9-"); }

TEST(Keys, UnknownOnesAreNamed) {
  EXPECT_EQ(keys("Escpe"), "error: did you mean Escape?");
  EXPECT_TRUE(keys("hello").starts_with("error: such as"));
  EXPECT_TRUE(keys("C-1").starts_with("error:"));
}

}  // namespace
}  // namespace sbx
