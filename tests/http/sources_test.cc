// SPDX-License-Identifier: Apache-2.0
#include "http/sources.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace sbx::http {
namespace {

constexpr std::size_t kMost = std::size_t{16} << 10;

// The secret, or where the error is and what it says.
std::string read(const SecretSource& from, const EnvironmentBlock& environment = {}) {
  const auto secret = read_secret(from, environment, "/from");
  return secret.ok() ? secret.value() : secret.error().where + ": " + secret.error().message;
}

std::string printed(const std::string& script) {
  return read({{}, {}, std::vector<std::string>{"sh", "-c", script}, {}}, {"PATH=/usr/bin:/bin"});
}

TEST(Secret, IsWhatACommandPrintsThatEndsWell) {
  EXPECT_EQ(printed("echo the-value"), "the-value");
  EXPECT_EQ(printed("printf the-value; exec >&-; sleep 0.1"), "the-value");
  for (const char* const script :
       {"echo the-value; exit 1", "echo the-value; kill -KILL $$", "exit 0"}) {
    const std::string said = printed(script);
    EXPECT_TRUE(said.starts_with("/from: the command sh ")) << script << said;
  }
  EXPECT_EQ(printed("head -c 16384 /dev/zero | tr '\\0' a"), std::string(kMost, 'a'));
  for (const char* const script : {"head -c 17000 /dev/zero | tr '\\0' a", "yes"}) {
    EXPECT_EQ(printed(script), "/from: the command sh prints more than 16 KiB");
  }
  EXPECT_EQ(read({{}, {}, std::vector<std::string>{"/nonexistent"}, {}}),
            "/from: the command /nonexistent cannot be run: ENOENT: No such file or directory");
}

TEST(Secret, IsWhatARegularFileHolds) {
  test::TempDir place;
  const auto held = [&](const std::string& text) {
    place.file("secret", text);
    return read({{}, place.at("secret"), {}, {}});
  };
  EXPECT_EQ(held("the-value\n"), "the-value");
  EXPECT_EQ(held(std::string(kMost, 'a') + "\n"), std::string(kMost, 'a'));
  EXPECT_TRUE(held(std::string(kMost + 1, 'a')).ends_with(" gives more than 16 KiB"));
  EXPECT_TRUE(held(std::string(kMost + 1, 'a') + "\n").ends_with(" gives more than 16 KiB"));
  EXPECT_TRUE(held("").ends_with(" gives nothing"));
  EXPECT_EQ(mkfifo(place.at("fifo").c_str(), 0600), 0);
  for (const std::string& path : {place.at("."), place.at("fifo"), std::string("/dev/zero")}) {
    EXPECT_EQ(read({{}, path, {}, {}}), "/from: the file " + path + " is no regular file");
  }
  EXPECT_EQ(
      read({{}, place.at("none"), {}, {}}),
      "/from: the file " + place.at("none") + " cannot be read: ENOENT: No such file or directory");
}

TEST(Secret, IsOneLineOfText) {
  const auto of = [](const std::string& value) {
    return read({"TOKEN", {}, {}, {}}, {"TOKENS=other", "TOKEN=" + value});
  };
  EXPECT_EQ(of("the-value \xc3\xa4"), "the-value \xc3\xa4");
  for (const char* const value : {"a\nb", "a\r", "\x7f", "a\tb", "a\n\n"}) {
    EXPECT_EQ(of(value), "/from: the variable TOKEN gives more than one line, or control bytes");
  }
  EXPECT_EQ(of(""), "/from: the variable TOKEN is not set, or empty");
  EXPECT_EQ(of("\n"), "/from: the variable TOKEN gives nothing");
  EXPECT_EQ(of(std::string(kMost + 1, 'a')), "/from: the variable TOKEN gives more than 16 KiB");
}

}  // namespace
}  // namespace sbx::http
