// SPDX-License-Identifier: Apache-2.0
// Passwords in connection strings and URLs, which go however short they are.
#include <gtest/gtest.h>

#include "output/redact_harness.h"

namespace sbx {
namespace {

TEST(Redactor, PasswordsOfConnectionStringsGoHoweverShort) {
  const std::pair<const char*, const char*> cases[] = {
      {"Server=db;User Id=sa;Password=", ";Database=y"},
      {"Server=db;User Id=sa;Password=", ";Encrypt=True"},
      {"Server=db;User Id=sa;Password=", ""},
      {"c = \"Data Source=(local);Password=", "\""},
      {"Driver={x};Uid=u;Pwd={", "};Database=z"},
      {"jdbc:sqlserver://h:1;user=sa;password=", ";databaseName=d"},
      {"jdbc:postgresql://h/d?user=u&password=", ""},
      {"GET https://h/login?password=", "&user=u HTTP/1.1"},
  };
  for (const auto& [before, after] : cases) {
    for (const std::string password : {"x", "q7", "word", "x1", "wrong", "Horse"}) {
      EXPECT_EQ(redact(before + password + after).text, std::string(before) + "[REDACTED]" + after);
    }
  }
}

TEST(Redactor, WhatCodeFillsIntoAConnectionStringStays) {
  for (const char* text :
       {"f\"Server=db;Uid={user};Pwd={password};\"", "f\"Server=db;Uid=sa;Pwd={password};\"",
        "f\"Driver={{x}};Uid=u;Pwd={self.pwd};\"", "Server=db;User Id=sa;Password=***;Database=y",
        "Server=db;User Id=sa;Password=;Database=y", "Server=db;User Id=sa;Password=${P};x=y",
        "https://h/d?user=u&password={p}", "https://h/d?user=u&password=$P",
        "https://h/d?user=?&password=?", "cd /x;pwd=y", "x.user=e;x.password=t;", "e&password=t"}) {
    EXPECT_EQ(redact(text).text, text);
  }
}

TEST(Redactor, NamesThatEndInTokenAreTokens) {
  for (const std::string name : {"gittoken", "npmtoken", "githubtoken", "bottoken", "token"}) {
    EXPECT_EQ(redact(name + "=q0123456789abcd1").text, name + "=[REDACTED]");
    EXPECT_EQ(redact("x " + name + "=x1y2z3w4 y").text, "x " + name + "=[REDACTED] y");
  }
  for (const char* text : {"x detoken=x1y2z3w4 y", "x csrftoken=short y"}) {
    EXPECT_EQ(redact(text).text, text);
  }
}

}  // namespace
}  // namespace sbx
