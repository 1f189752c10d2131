// SPDX-License-Identifier: Apache-2.0
// Words for a kept shell, and what it may say back.
#include "session/shell_words.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "../../fuzz/session/shell_property.h"

namespace sbx {
namespace {

TEST(ShellWords, QuoteAnything) {
  EXPECT_EQ(quote_for_shell("a 'b' $c\n"), "'a '\\''b'\\'' $c\n'");
  EXPECT_EQ(quote_for_shell(""), "''");
}

TEST(ShellWords, HoldNoNul) {
  const ShellCall call{"echo 'x'", {{"A", "it's"}}, true, "/tmp", false, 3, "himxB"};
  const std::string word = call_word(call);
  EXPECT_EQ(word.find('\0'), std::string::npos);
  for (
      const char* part :
      {R"({ A='it'\''s' \command \eval '{ __sbx_live=1 __sbx_ran=$__sbx_word_number; \builtin eval "${__sbx_functions-}"; )",
       R"(then $(\builtin exit 3) && [[ 1 ]]; else )", R"(>/dev/null 2>&1
echo '\''x'\'''; } >)"}) {
    EXPECT_NE(word.find(part), std::string::npos) << part << "\n" << word;
  }
  EXPECT_EQ(prompt_word("himxB"), "sbx promptx");
  EXPECT_EQ(prompt_word("him"), "sbx prompt");
}

TEST(ShellWords, AreRunOnceByTheirNumber) {
  const std::string word = numbered_word(7, return_word());
  EXPECT_TRUE(word.starts_with("sbx word if ((7>__sbx_word_number)); then")) << word;
  EXPECT_TRUE(end_word().starts_with("sbx word ")) << end_word();
}

TEST(ShellWords, TakeBashWhereTheProfilesShellIsNone) {
  EXPECT_EQ(kept_shell_argv("/usr/bin/bash")[0], "/usr/bin/bash");
  EXPECT_EQ(kept_shell_argv("/bin/sh")[0], "/bin/bash");
}

TEST(ShellMessages, AreRead) {
  const auto ready = read_shell_message("ready 130 7 himBHs");
  ASSERT_TRUE(ready && std::holds_alternative<ShellReady>(*ready));
  EXPECT_EQ(std::get<ShellReady>(*ready).status, 130);
  EXPECT_EQ(std::get<ShellReady>(*ready).word, 7);
  EXPECT_EQ(std::get<ShellReady>(*ready).flags, "himBHs");
  const auto pipes = read_shell_message("pipes 11 12 0 /a b\nc");
  ASSERT_TRUE(pipes && std::holds_alternative<ShellPipes>(*pipes));
  EXPECT_EQ(std::get<ShellPipes>(*pipes).err, 12);
  EXPECT_EQ(std::get<ShellPipes>(*pipes).cwd, "/a b\nc");
  const auto begun = read_shell_message("begun 1000");
  ASSERT_TRUE(begun && std::holds_alternative<ShellBegun>(*begun));
  EXPECT_EQ(std::get<ShellBegun>(*begun).word, 1000);
  const auto ran = read_shell_message("end 3 7");
  ASSERT_TRUE(ran && std::holds_alternative<ShellEnd>(*ran));
  EXPECT_EQ(std::get<ShellEnd>(*ran).status, 3);
  EXPECT_EQ(std::get<ShellEnd>(*ran).ran, 7);
  const auto end = read_shell_message("nowhere 1");
  ASSERT_TRUE(end && std::holds_alternative<ShellEnd>(*end));
  EXPECT_FALSE(std::get<ShellEnd>(*end).was_in_cwd);
}

TEST(ShellMessages, ThatTheDriverNeverSaysAreNone) {
  for (const char* text :
       {"", "ready", "ready x 1 h", "ready 256 1 h", "ready 1 -1 h", "ready 1 2 h;x", "end 1",
        "end 1 2 3", "end 1 x", "end 99999999999999999999", "pipes 1", "pipes 1 -2 0 /",
        "pipes 1 2 /", "pipes 2097152 1 0 /", "begun", "begun x", "begun 1 2", "nowhere 1 2",
        "other 1"}) {
    EXPECT_FALSE(read_shell_message(text)) << text;
  }
}

TEST(ShellMessages, OfTheCorpusHold) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SBX_SOURCE_DIR "/fuzz/session/corpus/session")) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(shell_holds(bytes) && keys_hold(bytes)) << entry.path();
    ++count;
  }
  EXPECT_GT(count, 5);
}

}  // namespace
}  // namespace sbx
