// SPDX-License-Identifier: Apache-2.0
// The table of methods: its names, and the params of each, strictly.
#include "rpc/methods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace sbx {
namespace {

using nlohmann::json;

Result<MethodParams> decode(std::string_view method, const std::string& params) {
  SBX_TRY(const Method* row, find_method(methods(), method));
  return decode_method_params(*row, params);
}

std::set<std::string> documented(const std::string& page, const std::string& heading) {
  std::ifstream file(std::string(SBX_SOURCE_DIR) + "/docs/" + page);
  std::set<std::string> names;
  bool is_within = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(heading)) {
      is_within = true;
    } else if (is_within && line.starts_with("| `")) {
      names.insert(line.substr(3, line.find('`', 3) - 3));
    } else if (is_within && !line.starts_with("|")) {
      break;
    }
  }
  return names;
}

TEST(Methods, AreThoseOfTheirPage) {
  std::set<std::string> names;
  for (const Method& method : methods()) names.insert(std::string(method.name));
  EXPECT_EQ(names.size(), methods().size());
  EXPECT_EQ(names, documented("sessions.md", "| method |"));
}

TEST(Methods, EachIsCallableAndAnUnknownOneNamesTheNearest) {
  for (const Method& method : methods()) {
    EXPECT_NE(method.call, nullptr) << method.name;
    ASSERT_TRUE(find_method(methods(), method.name).ok());
  }
  EXPECT_EQ(find_method(methods(), "runn").error().hint, "did you mean \"run\"?");
  const Error far = find_method(methods(), "frobnicate").error();
  EXPECT_EQ(far.code, ErrorCode::kUnknownMethod);
  for (const Method& method : methods()) {
    EXPECT_NE(far.hint.find(method.name), std::string::npos) << method.name;
  }
}

TEST(Methods, ApprovalsAndWhatALayerMakesOfRealFilesAreTheOperators) {
  const std::set<std::string_view> operators = {"approve",      "approvals",     "decline",
                                                "layer.commit", "layer.discard", "layer.undo"};
  for (const Method& method : methods()) {
    EXPECT_EQ(method.for_operator, operators.contains(method.name)) << method.name;
  }
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

TEST(MethodParams, OfFollowersStandBesideTheRequest) {
  const auto start = decode("start", R"({"command": "ls", "match": "x", "follow": true})");
  ASSERT_TRUE(start.ok());
  EXPECT_EQ(start.value().match, "x");
  EXPECT_EQ(start.value().follow, true);
  EXPECT_EQ(start.value().request.command, "ls");
  const auto run = decode("run", R"({"command": "ls", "stream": true})");
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run.value().stream, true);
  const auto unknown = decode("run", R"({"command": "ls", "match": "x", "stream": true})");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().where, "/match");
  EXPECT_FALSE(decode("start", R"({"command": "ls", "stream": true})").ok());
  EXPECT_FALSE(decode("run", R"({"command": "ls", "stream": 1})").ok());
  EXPECT_FALSE(decode("check", R"({"command": "ls", "stream": true})").ok());
  EXPECT_FALSE(decode("run", "[]").ok());
}

TEST(MethodParams, AnUnknownOneIsHeldAgainstTheRequestsAndTheMethodsOwn) {
  const auto hint = [](const char* method, const char* params) {
    const auto refused = decode(method, params);
    return refused.ok() ? "" : refused.error().hint;
  };
  EXPECT_EQ(hint("run", R"({"command": "ls", "shel": "kept"})"), "did you mean \"shell\"?");
  EXPECT_EQ(hint("run", R"({"command": "ls", "comand": 1})"), "did you mean \"command\"?");
  EXPECT_EQ(hint("start", R"({"command": "ls", "folow": true})"), "did you mean \"follow\"?");
  for (const char* name : {"command", "stream", "shell"}) {
    EXPECT_NE(hint("run", R"({"frobnicate": 1})").find(name), std::string::npos) << name;
  }
  EXPECT_EQ(hint("check", R"({"frobnicate": 1})").find("stream"), std::string::npos);
  // What else is wrong comes first.
  EXPECT_EQ(decode("run", R"({"command": 1, "shel": "kept"})").error().where, "/command");
  EXPECT_EQ(decode("run", R"({"shel": "kept", "stream": 1})").error().where, "/stream");
}

TEST(MethodParams, OfAToolHoldItsOwnAsAnObject) {
  const auto tool = decode("tool", R"({"name": "bash", "params": {"a": [1]}})");
  ASSERT_TRUE(tool.ok());
  EXPECT_EQ(tool.value().name, "bash");
  EXPECT_EQ(tool.value().tool_params, json::parse(R"({"a": [1]})"));
  EXPECT_EQ(decode("tool", R"({"name": "bash"})").value().tool_params, json::object());
  EXPECT_FALSE(decode("tool", R"({"name": "bash", "params": []})").ok());
  EXPECT_FALSE(decode("tool", R"({"params": {}})").ok());
  EXPECT_FALSE(decode("tool", "[1]").ok());
}

TEST(MethodParams, AnEmptyTaskIdIsABadValueAndNotAnAbsentOne) {
  for (const char* method : {"status", "output", "stdin", "wait", "kill"}) {
    const auto params = decode(method, R"({"task_id": ""})");
    ASSERT_FALSE(params.ok()) << method;
    EXPECT_EQ(params.error().code, ErrorCode::kBadValue) << method;
    EXPECT_EQ(params.error().where, "/task_id") << method;
  }
  EXPECT_TRUE(decode("status", "{}").ok());
}

TEST(MethodParams, AnIdIsTheSameHoweverItIsWritten) {
  EXPECT_EQ(normal_id(" 7 "), "7");
  EXPECT_EQ(normal_id(R"("\u0061")"), normal_id(R"("a")"));
  EXPECT_NE(normal_id("7"), normal_id("\"7\""));
  EXPECT_EQ(normal_id("{"), "");
  EXPECT_EQ(normal_id("18446744073709551616"), "18446744073709551616");
  EXPECT_EQ(decode("cancel", R"({"id": 7})").value().id, "7");
  EXPECT_FALSE(decode("cancel", R"({"id": null})").ok());
  EXPECT_FALSE(decode("cancel", R"({"id": 7, "x": 1})").ok());
}

}  // namespace
}  // namespace sbx
