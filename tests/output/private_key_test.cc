// SPDX-License-Identifier: Apache-2.0
// Private keys that look like none, and those with other lines between theirs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redact_harness.h"

namespace sbx {
namespace {

TEST(PrivateKey, AKeyOfShortLinesOrOfNoBase64IsAKeyAllTheSame) {
  const std::string begin = "-----BEGIN RSA PRIVATE KEY-----\n";
  const std::string end = "-----END RSA PRIVATE KEY-----\n";
  for (const char* body : {"MIIabc\nMIIdef\n", "abcdef\nzzz=\n", "MIIEowIBAAKCAQEA...\n",
                           "not-a-real-key\nbut-shown_as.one\n"}) {
    EXPECT_EQ(redact(begin + body + end).text, begin + "[REDACTED]\n" + end);
    EXPECT_EQ(redact(begin + body).text, begin + "[REDACTED]\n");
  }
  EXPECT_EQ(redact(begin + "abcdef\n$ echo done\n").text, begin + "[REDACTED]\n$ echo done\n");
}

TEST(PrivateKey, AMentionOfAKeysHeaderIsNoKey) {
  for (const char* text :
       {"if (s.startsWith(\"-----BEGIN PRIVATE KEY-----\")) {\nreturn parse(s);\n",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq\n",
        "expected -----BEGIN RSA PRIVATE KEY-----\nbut got: nothing\n"}) {
    EXPECT_EQ(redact(text).text, text);
  }
}

// As `set -x`, and what writes to the other stream with --merge, put it between the lines.
TEST(PrivateKey, AKeyGoesOnBehindProseThatStandsWithinIt) {
  const std::string begin = "-----BEGIN RSA PRIVATE KEY-----\n";
  const std::string end = "-----END RSA PRIVATE KEY-----\n";
  const std::string line = "MIIEowIBAAKCAQEAx7Qd0Z3VS5JJcds3xfnYw9uKpL2mB8tRzC4vN1sHgJkFqWe0\n";
  const std::string last = "q7Rz0PbM4vXk9LwT2nJd+A==\n";
  std::string mixed = begin + "warn -\n";
  std::string traced = "+ echo '-----BEGIN RSA PRIVATE KEY-----'\n+ read -r l\n";
  for (int i = 0; i < 40; ++i) {
    mixed.append(line).append("warn M\n");
    traced.append("+ echo ").append(line).append("+ read -r l\n");
  }
  const auto has_none = [&](const std::string& text) {
    EXPECT_EQ(text.find("x7Qd0Z"), std::string::npos) << text;
    EXPECT_EQ(text.find("q7Rz0P"), std::string::npos) << text;
  };
  const std::string whole = redact(mixed + last + "warn q\n" + end + line + "on\n").text;
  has_none(whole.substr(0, whole.find(end)));
  EXPECT_TRUE(whole.ends_with("[REDACTED]\nwarn q\n" + end + line + "on\n")) << whole;
  has_none(redact(traced + "+ echo " + last + "+ read -r l\n").text);
  EXPECT_EQ(
      redact(begin + line + line + "debug1: loaded\n\n" + line + line + last + end + "on\n").text,
      begin + "[REDACTED]\ndebug1: loaded\n\n[REDACTED]\n" + end + "on\n");
  EXPECT_EQ(redact(begin + line + "password: hunter2x\n" + line).text,
            begin + "[REDACTED]\npassword: [REDACTED]\n[REDACTED]\n");
}

TEST(PrivateKey, ProseBehindAKeyWithoutAnEndStays) {
  const std::string begin =
      "-----BEGIN RSA PRIVATE KEY-----\n"
      "MIIEowIBAAKCAQEAx7Qd0Z3VS5JJcds3xfnYw9uKpL2mB8tRzC4vN1sHgJkFqWe0\n";
  const std::string shown = "-----BEGIN RSA PRIVATE KEY-----\n[REDACTED]\n";
  for (const std::string& prose : std::vector<std::string>{
           "$ sha256sum x\n9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  x\n",
           "digest:\n9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n",
           "in /home/Alice/StudioProjects2/application/source/main/kotlin/ourapp/\n",
           "ok TheQuickBrownFoxJumpsOverTheLazyDogAndThenRunsAwayFromTheHunters2\n",
           std::string("-----BEGIN CERTIFICATE-----\n") +
               "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n"}) {
    EXPECT_EQ(redact(begin + "$ done\n" + prose).text, shown + "$ done\n" + prose);
  }
  std::string far = begin;
  for (int i = 0; i < 500; ++i) far += "$ done\n";
  const std::string line = begin.substr(begin.find('\n') + 1);
  EXPECT_TRUE(redact(far + line).text.ends_with("$ done\n" + line));
}

}  // namespace
}  // namespace sbx
