// SPDX-License-Identifier: Apache-2.0
// What is told of a call's progress, and when.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rpc/mcp_progress.h"

namespace sbx {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

TEST(McpProgress, IsSilentWhereNobodyAsked) {
  McpProgress progress("", McpProgress::Clock::now());
  progress.add("text");
  EXPECT_FALSE(progress.due().has_value());
  EXPECT_FALSE(progress.take(McpProgress::Clock::now() + std::chrono::hours(1)).has_value());
}

TEST(McpProgress, TellsOutputSoonAndSilenceEachSecond) {
  const auto now = McpProgress::Clock::now();
  McpProgress progress("\"tok\"", now);
  EXPECT_FALSE(progress.take(now + milliseconds(999)).has_value());
  const auto sign = progress.take(now + milliseconds(1000));
  ASSERT_TRUE(sign.has_value());
  EXPECT_EQ(json::parse(*sign),
            json::parse(R"({"progressToken":"tok","progress":1.0,"message":"running"})"));
  progress.add("hello");
  EXPECT_FALSE(progress.take(now + milliseconds(1099)).has_value());
  const auto told = progress.take(now + milliseconds(1100));
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(json::parse(*told).at("message"), "hello");
}

TEST(McpProgress, AlwaysGrows) {
  const auto now = McpProgress::Clock::now();
  McpProgress progress("7", now);
  double last = -1;
  for (int i = 1; i < 50; ++i) {
    progress.add("x");
    const auto told = progress.take(now + milliseconds(100) * i);
    ASSERT_TRUE(told.has_value());
    const double value = json::parse(*told).at("progress");
    EXPECT_GT(value, last);
    last = value;
  }
}

TEST(McpProgress, KeepsTheNewestWholeCharacters) {
  const auto now = McpProgress::Clock::now();
  McpProgress progress("7", now);
  for (int i = 0; i < 5000; ++i) progress.add("é");
  const auto told = progress.take(now + milliseconds(100));
  ASSERT_TRUE(told.has_value());
  const std::string message = json::parse(*told).at("message");
  EXPECT_LE(message.size(), 4096U + 3);
  EXPECT_TRUE(message.starts_with("…é"));
}

}  // namespace
}  // namespace sbx
