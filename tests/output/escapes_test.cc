// SPDX-License-Identifier: Apache-2.0
// Secrets right behind what begins an escape (ESC [), which their first letters seem to end.
#include <gtest/gtest.h>

#include "output/redact_harness.h"

namespace sbx {
namespace {

const std::string kToken = "ghp_" + std::string("abcdefghij0123456789ABCDEFGHIJ012345");

TEST(Redactor, FindsASecretBehindAnEscapeThatHasNoEndOfItsOwn) {
  for (const char* const escape :
       {"\x1b[", "\x1b[ ", "\x1b[1;", "\x1b[2J", "\x1b[2J\x1b[1m", "\x1b[H"}) {
    const std::string text = escape + kToken + "\nnext\n";
    const std::string safe = redact(text).text;
    EXPECT_EQ(safe.find(kToken.substr(4)), std::string::npos) << safe;
    EXPECT_TRUE(safe.ends_with("[REDACTED]\nnext\n")) << safe;
  }
  EXPECT_EQ(redact("\x1b[password=hunter2xyz\n").text, "\x1b[password=[REDACTED]\n");
}

TEST(Redactor, FindsAPrivateKeyBehindAnEscapeThatHasNoEndOfItsOwn) {
  const std::string line(64, 'A');
  for (const char* const escape : {"\x1b[", "\x1b[ ", "\x1b[0;1", "\x1b[2J"}) {
    const std::string begin = escape + std::string("-----BEGIN PRIVATE KEY-----\n");
    const std::string end = "-----END PRIVATE KEY-----\n";
    EXPECT_EQ(redact(begin + line + "\n" + line + "\n" + end).text, begin + "[REDACTED]\n" + end);
  }
}

TEST(Redactor, LeavesEscapesThatNoWordFollows) {
  for (const char* const text :
       {"Password: \x1b[?25h\n", "Password: \x1b[H\nnext", "token=\x1b[2J", "x\x1b["}) {
    EXPECT_EQ(redact(text).text, text);
  }
}

}  // namespace
}  // namespace sbx
