// SPDX-License-Identifier: Apache-2.0
// The walk over a profile's keys: the code, the pointer and the hint of each kind of error.
#include "json/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "json/schema.h"
#include "profile/fields.h"

namespace sbx {
namespace {

using nlohmann::json;

std::vector<Error> errors_of(const char* text) {
  return check_fields(json::parse(text), kProfileSpec, "");
}

Error only_error(const char* text) {
  auto errors = errors_of(text);
  EXPECT_EQ(errors.size(), 1U) << text;
  return errors.empty() ? Error{} : errors.front();
}

void expect_error(const char* text, ErrorCode code, const char* where) {
  const Error error = only_error(text);
  EXPECT_EQ(error_name(error.code), error_name(code)) << text;
  EXPECT_EQ(error.where, where) << text;
}

TEST(CheckFields, NamesTheNearestKnownKey) {
  const Error error = only_error(R"({"limits": {"timeout": 5}})");
  EXPECT_EQ(error.code, ErrorCode::kUnknownField);
  EXPECT_EQ(error.where, "/limits/timeout");
  EXPECT_NE(only_error(R"({"limits": {"memry_mb": 5}})").hint.find("\"memory_mb\""),
            std::string::npos);
  EXPECT_NE(only_error(R"({"filesytem": {}})").hint.find("\"filesystem\""), std::string::npos);
  EXPECT_NE(only_error(R"({"landlock": {"zzzzzzzzz": 1}})").hint.find("mode"), std::string::npos);
}

TEST(CheckFields, NamesTheNearestKnownValue) {
  const Error error = only_error(R"({"filesystem": {"base": "sytem"}})");
  EXPECT_EQ(error.code, ErrorCode::kBadValue);
  EXPECT_EQ(error.where, "/filesystem/base");
  EXPECT_EQ(error.hint, "did you mean \"system\"?");
  EXPECT_NE(error.message.find("system, tools, host, none"), std::string::npos);
}

TEST(CheckFields, RefusesEveryOtherJsonType) {
  expect_error(R"([])", ErrorCode::kWrongType, "");
  expect_error(R"({"filesystem": []})", ErrorCode::kWrongType, "/filesystem");
  expect_error(R"({"filesystem": null})", ErrorCode::kWrongType, "/filesystem");
  expect_error(R"({"filesystem": {"overlay": 1}})", ErrorCode::kWrongType, "/filesystem/overlay");
  expect_error(R"({"filesystem": {"roots": {}}})", ErrorCode::kWrongType, "/filesystem/roots");
  expect_error(R"({"filesystem": {"base": 3}})", ErrorCode::kWrongType, "/filesystem/base");
  expect_error(R"({"filesystem": {"protect": [7]}})", ErrorCode::kWrongType,
               "/filesystem/protect/0");
  expect_error(R"({"limits": {"pids": true}})", ErrorCode::kWrongType, "/limits/pids");
  expect_error(R"({"limits": {"pids": "5"}})", ErrorCode::kWrongType, "/limits/pids");
  expect_error(R"({"environment": {"set": {"A": 1}}})", ErrorCode::kWrongType,
               "/environment/set/A");
  expect_error(R"({"commands": {"deny": null}})", ErrorCode::kWrongType, "/commands/deny");
  expect_error(R"({"name": null})", ErrorCode::kWrongType, "/name");
}

TEST(CheckFields, TakesOnlyWholeNumbersInRangeAsCounts) {
  expect_error(R"({"limits": {"pids": 1.9}})", ErrorCode::kWrongType, "/limits/pids");
  EXPECT_NE(only_error(R"({"limits": {"pids": 1.9}})")
                .message.find("a whole number, not the "
                              "number 1.9"),
            std::string::npos);
  expect_error(R"({"limits": {"pids": -1}})", ErrorCode::kOutOfRange, "/limits/pids");
  expect_error(R"({"limits": {"pids": 0}})", ErrorCode::kOutOfRange, "/limits/pids");
  expect_error(R"({"limits": {"pids": 18446744073709551615}})", ErrorCode::kOutOfRange,
               "/limits/pids");
  expect_error(R"({"limits": {"timeout_ms": 604800001}})", ErrorCode::kOutOfRange,
               "/limits/timeout_ms");
  expect_error(R"({"network": {"host_ports": [80, 65536]}})", ErrorCode::kOutOfRange,
               "/network/host_ports/1");
  EXPECT_TRUE(errors_of(R"({"limits": {"tmp_mb": 0, "pids": 2.0, "cpu_ms": null}})").empty());
}

TEST(CheckFields, WantsTheRequiredKeys) {
  expect_error(R"({"filesystem": {"roots": [{"access": "rw"}]}})", ErrorCode::kMissingField,
               "/filesystem/roots/0/path");
}

TEST(CheckFields, AllowsAppendingToListsOnly) {
  EXPECT_TRUE(errors_of(R"({"commands": {"+deny": ["x"], "+allow": []}})").empty());
  expect_error(R"({"commands": {"+deny": ["x"], "deny": []}})", ErrorCode::kBadValue,
               "/commands/+deny");
  expect_error(R"({"commands": {"+allow": null}})", ErrorCode::kWrongType, "/commands/+allow");
  expect_error(R"({"commands": {"+deny": [1]}})", ErrorCode::kWrongType, "/commands/+deny/0");
  expect_error(R"({"commands": {"+denied": []}})", ErrorCode::kUnknownField, "/commands/+denied");
  expect_error(R"({"+limits": {}})", ErrorCode::kUnknownField, "/+limits");
  EXPECT_NE(only_error(R"({"commands": {"+shell": "sh"}})").hint.find("only lists"),
            std::string::npos);
}

TEST(CheckFields, ReportsAllErrorsAtOnceAndBoundsTheirNumber) {
  const auto errors = errors_of(R"({"a": 1, "network": {"mode": "x", "host_ports": [0, true]}})");
  EXPECT_EQ(errors.size(), 4U);
  std::string many = R"({"network": {"host_ports": [0)";
  for (int i = 0; i < 500; ++i) many += ",0";
  EXPECT_EQ(errors_of((many + "]}}").c_str()).size(), 100U);
}

TEST(CheckFields, PutsThePrefixBeforeEveryPointer) {
  const auto errors = check_fields(json::parse(R"({"x/y": 1})"), kProfileSpec, "/params");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].where, "/params/x~1y");
}

TEST(CheckFields, ShortensLongTextInMessages) {
  const std::string text =
      R"({"network": {"mode": ")" + std::string(59, 'a') + "éé" + std::string(5000, 'b') + "\"}}";
  const Error error = only_error(text.c_str());
  EXPECT_LT(error.message.size(), 200U);
  EXPECT_NO_THROW((void)json(error.message).dump()) << "cut inside a character";
}

TEST(CheckFields, NamesNoBoundThatIsNone) {
  static constexpr FieldSpec kFields[] = {
      {"count", "", {.kind = Kind::kCount, .min = 1, .max = kUnbounded}},
      {"seconds", "", {.kind = Kind::kNumber, .min = 0, .max = kUnbounded}},
      {"some", "", {.kind = Kind::kCount, .min = 1, .max = 10}}};
  static constexpr ObjectSpec kSpec = {kFields};
  const auto message = [](const char* text) {
    return check_fields(json::parse(text), kSpec, "").at(0).message;
  };
  EXPECT_EQ(message(R"({"count": 0})"), "must be 1 or more, not 0");
  EXPECT_EQ(message(R"({"seconds": -1})"), "must be more than 0, not -1");
  EXPECT_EQ(message(R"({"some": 0})"), "must be from 1 to 10, not 0");
  EXPECT_EQ(message(R"({"count": 1e300})"), "must be from 1 to 9007199254740992, not 1e+300");
}

TEST(CheckFields, TakesNumbersWithFractionsWhereTheSpecDoes) {
  static constexpr FieldSpec kFields[] = {
      {"seconds", "", {.kind = Kind::kNumber, .min = 1, .max = 10}}};
  static constexpr ObjectSpec kSpec = {kFields};
  EXPECT_TRUE(check_fields(json::parse(R"({"seconds": 1.5})"), kSpec, "").empty());
  const auto low = check_fields(json::parse(R"({"seconds": 0.5})"), kSpec, "");
  ASSERT_EQ(low.size(), 1U);
  EXPECT_EQ(low[0].code, ErrorCode::kOutOfRange);
  const auto text = check_fields(json::parse(R"({"seconds": "2"})"), kSpec, "");
  ASSERT_EQ(text.size(), 1U);
  EXPECT_EQ(text[0].code, ErrorCode::kWrongType);
  const auto schema = object_schema(kSpec, nullptr);
  EXPECT_EQ(schema["properties"]["seconds"]["type"], "number");
}

TEST(WholeNumber, KnowsWholeNumbersInEveryWriting) {
  EXPECT_EQ(whole_number(json(5)), 5);
  EXPECT_EQ(whole_number(json(-5)), -5);
  EXPECT_EQ(whole_number(json(2e3)), 2000);
  EXPECT_EQ(whole_number(json(0.5)), std::nullopt);
  EXPECT_EQ(whole_number(json(1e300)), std::nullopt);
  EXPECT_EQ(whole_number(json(UINT64_MAX)), std::nullopt);
  EXPECT_EQ(whole_number(json("5")), std::nullopt);
}

}  // namespace
}  // namespace sbx
