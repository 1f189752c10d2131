// SPDX-License-Identifier: Apache-2.0
// What may come to a person's terminal, and how wide it is there.
#include "cells.h"

#include <gtest/gtest.h>

#include <clocale>

namespace sbx {
namespace {

class Cells : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(setlocale(LC_CTYPE, "C.UTF-8"), nullptr); }
  void TearDown() override { setlocale(LC_CTYPE, "C"); }
};

TEST_F(Cells, HoldNoControlOfAnyKind) {
  const std::string hostile =
      "a\x1b[2J\x9b\xc2\x9b\x7f\r\nb\xe2\x80\xae"
      "c\xe2\x80\x8b\xef\xbb\xbf";
  for (const wchar_t character : to_cells(hostile, Unseen::kDrop)) {
    EXPECT_TRUE(character >= L' ' && character != 0x7f && !(character >= 0x80 && character < 0xa0));
    EXPECT_NE(character, L'\u202e');
    EXPECT_NE(character, L'\u200b');
  }
  EXPECT_EQ(to_cells("a\x1b[2Jb", Unseen::kDrop), L"a[2Jb");
}

TEST_F(Cells, WhatCannotBeSeenIsSpelledOutWhereAPersonDecides) {
  EXPECT_EQ(to_cells("rm \xe2\x80\xaex\x07\n", Unseen::kEscape),
            L"rm \\u{202e}x\\u{0007}\\u{000a}");
  // What has a width, and no mark within it.
  EXPECT_EQ(to_cells("a\u00a0b\u00adc\u115fd\u2800e\u3164f\u3000g", Unseen::kEscape),
            L"a\\u{00a0}b\\u{00ad}c\\u{115f}d\\u{2800}e\\u{3164}f\\u{3000}g");
  EXPECT_EQ(to_cells("a\u00a0b", Unseen::kDrop), L"a\u00a0b");
}

TEST_F(Cells, KeepMarksUponALetterButNoTower) {
  EXPECT_EQ(to_cells("e\xcc\x81", Unseen::kDrop), L"e\u0301");
  EXPECT_EQ(to_cells("e\xcc\x81\xcc\x81\xcc\x81\xcc\x81", Unseen::kDrop), L"e\u0301\u0301");
  EXPECT_EQ(to_cells("\xcc\x81"
                     "e",
                     Unseen::kDrop),
            L"e");
}

TEST_F(Cells, AreCutAndWrappedByColumns) {
  const std::wstring wide = to_cells("\xe6\xbc\xa2\xe5\xad\x97x", Unseen::kDrop);
  EXPECT_EQ(columns_of(wide), 5);
  EXPECT_EQ(cut(wide, 3), L"\u6f22");
  EXPECT_EQ(cut(wide, 3, true), L"\u6f22 ");
  EXPECT_EQ(wrap(wide, 3), (std::vector<std::wstring>{L"\u6f22", L"\u5b57x"}));
  EXPECT_EQ(wrap(L"", 3), (std::vector<std::wstring>{L""}));
  EXPECT_EQ(wrap(wide, 1).size(), 3U);  // narrower than one of them
}

}  // namespace
}  // namespace sbx
