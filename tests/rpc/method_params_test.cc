// SPDX-License-Identifier: Apache-2.0
// The params of the methods that are no commands, strictly.
#include "rpc/method_params.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace sbx {
namespace {

using nlohmann::json;

Result<MethodParams> decode(const char* method, const char* params) {
  const ObjectSpec* spec = method_spec(method);
  EXPECT_NE(spec, nullptr) << method;
  return decode_method_params(json::parse(params), *spec);
}

TEST(MethodParams, AreCarriedOver) {
  const auto kill = decode("kill", R"({"task_id": "t", "grace_ms": 10})");
  ASSERT_TRUE(kill.ok());
  EXPECT_EQ(kill.value().task_id, "t");
  EXPECT_EQ(kill.value().grace_ms, 10);
  const auto input = decode("stdin", R"({"task_id": "t", "text": "a\n", "close": true})");
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input.value().text, "a\n");
  EXPECT_TRUE(input.value().close);
  const auto output =
      decode("output", R"({"task_id": "t", "since": 5, "match": "x", "follow": null})");
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output.value().since, 5U);
  EXPECT_EQ(output.value().match, "x");
  EXPECT_FALSE(output.value().follow.has_value());
}

// Null is absent; 0 or negative times and fractions are refused.
TEST(MethodParams, SayWhatIsWrongAndWhere) {
  struct Case {
    const char* method;
    const char* params;
    ErrorCode code;
    const char* where;
  };
  const Case cases[] = {
      {"output", "{}", ErrorCode::kMissingField, "/task_id"},
      {"output", R"({"task_id": 5})", ErrorCode::kWrongType, "/task_id"},
      {"output", R"({"task_id": "t", "since": -1})", ErrorCode::kOutOfRange, "/since"},
      {"output", R"({"task_id": "t", "since": 1.5})", ErrorCode::kWrongType, "/since"},
      {"wait", R"({"task_id": "t", "timeout_ms": 0})", ErrorCode::kOutOfRange, "/timeout_ms"},
      {"kill", R"({"task_id": "t", "grace": 1})", ErrorCode::kUnknownField, "/grace"},
      {"list", R"({"task_id": "t"})", ErrorCode::kUnknownField, "/task_id"},
      {"approve", "{}", ErrorCode::kMissingField, "/digest"},
      {"status", "[]", ErrorCode::kWrongType, ""},
  };
  for (const Case& each : cases) {
    const auto params = decode(each.method, each.params);
    ASSERT_FALSE(params.ok()) << each.params;
    EXPECT_EQ(params.error().code, each.code) << each.params;
    EXPECT_EQ(params.error().where, each.where) << each.params;
  }
  EXPECT_TRUE(decode("status", R"({"task_id": null})").ok());
}

TEST(MethodParams, OfFollowersAreTakenOutOfTheRequest) {
  json params = json::parse(R"({"command": "ls", "match": "x", "follow": true})");
  const auto taken = take_follower_params(params, true);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken.value().match, "x");
  EXPECT_EQ(taken.value().follow, true);
  EXPECT_EQ(params, json::parse(R"({"command": "ls"})"));
  json run = json::parse(R"({"command": "ls", "match": "x", "stream": true})");
  ASSERT_TRUE(take_follower_params(run, false).ok());
  EXPECT_TRUE(run.contains("match"));  // not of a run: unknown there
  EXPECT_FALSE(run.contains("stream"));
  json wrong = json::parse(R"({"command": "ls", "stream": 1})");
  EXPECT_FALSE(take_follower_params(wrong, false).ok());
}

TEST(MethodParams, OfAToolHoldItsOwnAsAnObject) {
  const auto tool = decode_tool_params(json::parse(R"({"name": "bash", "params": {"a": [1]}})"));
  ASSERT_TRUE(tool.ok());
  EXPECT_EQ(tool.value().name, "bash");
  EXPECT_EQ(tool.value().params, R"({"a":[1]})");
  EXPECT_EQ(decode_tool_params(json::parse(R"({"name": "bash"})")).value().params, "{}");
  EXPECT_FALSE(decode_tool_params(json::parse(R"({"name": "bash", "params": []})")).ok());
  EXPECT_FALSE(decode_tool_params(json::parse(R"({"params": {}})")).ok());
  EXPECT_FALSE(decode_tool_params(json::parse("[1]")).ok());
}

TEST(MethodParams, AnEmptyTaskIdIsABadValueAndNotAnAbsentOne) {
  for (const char* method : {"status", "output", "stdin", "wait", "kill"}) {
    const auto params = decode_method_params(json{{"task_id", ""}}, *method_spec(method));
    ASSERT_FALSE(params.ok()) << method;
    EXPECT_EQ(params.error().code, ErrorCode::kBadValue) << method;
    EXPECT_EQ(params.error().where, "/task_id") << method;
  }
  EXPECT_TRUE(decode_method_params(json::object(), *method_spec("status")).ok());
}

TEST(MethodParams, AnIdIsTheSameHoweverItIsWritten) {
  EXPECT_EQ(normal_id(" 7 "), "7");
  EXPECT_EQ(normal_id(R"("\u0061")"), normal_id(R"("a")"));
  EXPECT_NE(normal_id("7"), normal_id("\"7\""));
  EXPECT_EQ(normal_id("{"), "");
  EXPECT_EQ(normal_id("18446744073709551616"), "18446744073709551616");
  EXPECT_EQ(decode_cancel_params(json::parse(R"({"id": 7})")).value(), "7");
  EXPECT_FALSE(decode_cancel_params(json::parse(R"({"id": null})")).ok());
  EXPECT_FALSE(decode_cancel_params(json::parse(R"({"id": 7, "x": 1})")).ok());
}

}  // namespace
}  // namespace sbx
