// SPDX-License-Identifier: Apache-2.0
// Tests of base/: units, nearest names, escaping, the error table.
#include "base/text.h"

#include <gtest/gtest.h>

#include <set>

#include "base/ascii.h"
#include "base/error.h"

namespace sbx {
namespace {

TEST(Ascii, KnowsDigitsAndLettersByTheirEdges) {
  for (const char c : {'0', '9'}) EXPECT_TRUE(is_digit(c) && is_alphanumeric(c)) << c;
  for (const char c : {'a', 'z', 'A', 'Z'}) EXPECT_TRUE(is_letter(c) && !is_digit(c)) << c;
  for (const char c : {'/', ':', '@', '[', '`', '{', '\xe4'}) EXPECT_FALSE(is_alphanumeric(c)) << c;
  EXPECT_TRUE(is_lower('z') && !is_lower('Z') && is_upper('Z') && !is_upper('z'));
}

TEST(Ascii, ReadsHexadecimalDigitsOfEitherCase) {
  EXPECT_EQ(hex_value('0'), 0);
  EXPECT_EQ(hex_value('9'), 9);
  EXPECT_EQ(hex_value('a'), 10);
  EXPECT_EQ(hex_value('F'), 15);
  for (const char c : {'g', 'G', '/', ':', '@', '`', '\0'}) {
    EXPECT_EQ(hex_value(c), -1) << c;
    EXPECT_FALSE(is_hex_digit(c)) << c;
  }
}

TEST(Text, ReadsDurationsWithUnitsAndRefusesTheRest) {
  EXPECT_EQ(parse_duration_ms("10s"), 10'000);
  EXPECT_EQ(parse_duration_ms("500ms"), 500);
  EXPECT_EQ(parse_duration_ms("2m"), 120'000);
  EXPECT_EQ(parse_duration_ms("90"), 90'000);
  EXPECT_EQ(parse_duration_ms("0.5s"), 500);
  EXPECT_EQ(parse_duration_ms("1.5m"), 90'000);
  EXPECT_EQ(parse_duration_ms("0.001s"), 1);
  EXPECT_EQ(parse_duration_ms("1.25h"), 4'500'000);
  for (const char* bad : {"", "0s", "-1s", "s", "1.5", ".5s", "1.s", "0.0s", "0.0005s", "0.5ms",
                          "1.5.5s", "-0.5s", "10 s", "10d", "99999999999999999999s"}) {
    EXPECT_EQ(parse_duration_ms(bad), std::nullopt) << bad;
  }
}

TEST(Text, ReadsSizesWithUnitsAndRefusesTheRest) {
  EXPECT_EQ(parse_size_bytes("512"), 512);
  EXPECT_EQ(parse_size_bytes("64K"), 65'536);
  EXPECT_EQ(parse_size_bytes("512M"), 512LL << 20);
  EXPECT_EQ(parse_size_bytes("2GiB"), 2LL << 30);
  for (const char* bad : {"", "0", "-1M", "1.5M", "M", "10X", "9999999T"}) {
    EXPECT_EQ(parse_size_bytes(bad), std::nullopt) << bad;
  }
}

TEST(Text, NamesTheNearestCandidateOnlyForASlipOfTheHand) {
  constexpr std::string_view kNames[] = {"timeout_ms", "memory_mb", "pids"};
  EXPECT_EQ(nearest_name("timeout_sm", kNames), "timeout_ms");
  EXPECT_EQ(nearest_name("pid", kNames), "pids");
  EXPECT_EQ(nearest_name("pdis", kNames), "pids");
  EXPECT_EQ(nearest_name("timeout", kNames), "timeout_ms");
  EXPECT_EQ(nearest_name("pids_max", kNames), "pids");
  EXPECT_EQ(nearest_name("banana", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
}

TEST(Text, EscapesControlBytesSoThatMessagesNeverMoveACursor) {
  EXPECT_EQ(escape_control_bytes("a\x1b[2Jb\n\x7f"), "a\\x1b[2Jb\\x0a\\x7f");
  // C1: terminals take U+009B for ESC [.
  EXPECT_EQ(escape_control_bytes("a\xc2\x9b"
                                 "2Jb\x9b"),
            "a\\xc2\\x9b2Jb\\x9b");
  // U+202E shows what follows from right to left.
  EXPECT_EQ(escape_control_bytes("rm \xe2\x80\xae"
                                 "cba"),
            "rm \\xe2\\x80\\xaecba");
  EXPECT_EQ(escape_control_bytes("é ü € 日本 😀 \xc2\xa0"), "é ü € 日本 😀 \xc2\xa0");
  EXPECT_EQ(escape_control_bytes("a\xe2\x80\xa8\xe2\x80\xa9"), "a\\xe2\\x80\\xa8\\xe2\\x80\\xa9");
  // What has no width, joins, fills or tags.
  EXPECT_EQ(escape_control_bytes("a\u200bb\u2060c\ufeffd\U000e0041"),
            "a\\xe2\\x80\\x8bb\\xe2\\x81\\xa0c\\xef\\xbb\\xbfd\\xf3\\xa0\\x81\\x81");
  EXPECT_EQ(escape_lines("a\tb\x1b\n\nc\r\n"), "a\tb\\x1b\n\nc\\x0d\n");
  EXPECT_EQ(escape_control_bytes("a\xe2\x82"), "a\\xe2\\x82");
}

TEST(Text, TakesAYesInEitherCaseAndNothingElse) {
  for (const char* const yes : {"y", "Y", "yes", "Yes", "YES"}) EXPECT_TRUE(is_yes(yes)) << yes;
  for (const char* const no : {"", "n", "no", "ye", "yes ", "y\n", "yy"}) EXPECT_FALSE(is_yes(no));
}

TEST(Text, QuotesForAShellWhatNeedsIt) {
  EXPECT_EQ(shell_word("a-b.c/d"), "a-b.c/d");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("a"), "'a'");
}

TEST(Error, EveryCodeHasANameOfItsOwnAndAMeaning) {
  std::set<std::string_view> names;
  for (const ErrorMeaning& meaning : error_meanings()) {
    EXPECT_TRUE(names.insert(meaning.name).second) << meaning.name;
    EXPECT_FALSE(meaning.meaning.empty());
  }
}

TEST(Error, ReadsTheNamesOfCodes) {
  EXPECT_EQ(error_code_of("path_not_found"), ErrorCode::kPathNotFound);
  EXPECT_EQ(error_code_of("path"), std::nullopt);
}

TEST(Error, OfACallNamesItAndItsErrno) {
  errno = ENOENT;
  const Error error = call_failed(ErrorCode::kSetupFailed, "open(x)", "where");
  EXPECT_EQ(error.message, "open(x): ENOENT: No such file or directory");
  EXPECT_EQ(error.where + "," + error.hint, "where,");
  EXPECT_EQ(error.sys_errno, ENOENT);
}

TEST(Error, TheLineHoldsCodePlaceAndHint) {
  const Error error{ErrorCode::kPathNotFound, "no such path: /x\n", "/filesystem/roots/0",
                    "make it"};
  EXPECT_EQ(error_line(error),
            "path_not_found: no such path: /x\\x0a [/filesystem/roots/0] (make it)");
}

}  // namespace
}  // namespace sbx
