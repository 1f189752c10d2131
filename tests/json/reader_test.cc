// SPDX-License-Identifier: Apache-2.0
// Strict reading: each kind of bad text, and numbers that keep their kind.
#include "json/reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sbx {
namespace {

using nlohmann::json;

json read(std::string_view text) {
  auto result = read_json_strict(text);
  EXPECT_TRUE(result.ok()) << text;
  return result.ok() ? result.value() : json();
}

Error refuse(std::string_view text, const JsonBounds& bounds = {}) {
  auto result = read_json_strict(text, bounds);
  EXPECT_FALSE(result.ok()) << text;
  return result.ok() ? Error{} : result.error();
}

TEST(JsonReader, BuildsWhatTheTextSays) {
  const json document = read(R"({"a": [1, {"b": "x"}, null, true], "c": {}})");
  EXPECT_EQ(document, json::parse(R"({"a": [1, {"b": "x"}, null, true], "c": {}})"));
  EXPECT_EQ(read(" 7 "), json(7));
}

TEST(JsonReader, KeepsTheKindOfEachNumber) {
  const json n = read("[-1, 1.9, 1.0, 18446744073709551615, 9223372036854775807]");
  EXPECT_EQ(n[0].get<std::int64_t>(), -1);
  EXPECT_TRUE(n[1].is_number_float());
  EXPECT_TRUE(n[2].is_number_float());
  EXPECT_TRUE(n[3].is_number_unsigned());
  EXPECT_TRUE(n[4].is_number_integer() && !n[4].is_number_unsigned());
}

TEST(JsonReader, RefusesADuplicateKeyAtAnyDepthWithItsPointer) {
  const Error error = refuse(R"({"a/b": [0, {"x~y": 1, "z": 2, "x~y": 3}]})");
  EXPECT_EQ(error.code, ErrorCode::kDuplicateKey);
  EXPECT_EQ(error.where, "/a~1b/1/x~0y");
  EXPECT_EQ(refuse(R"({"": 1, "": 2})").where, "/");
  EXPECT_EQ(refuse(R"({"a": 1, "\u0061": 2})").code, ErrorCode::kDuplicateKey);
}

TEST(JsonReader, RefusesNestingBeyondTheBoundWithoutRecursing) {
  const std::string deep(1'000'000, '[');
  EXPECT_EQ(refuse(deep).code, ErrorCode::kTooDeep);
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += R"({"k":)";
  const Error error = refuse(objects);
  EXPECT_EQ(error.code, ErrorCode::kTooDeep);
  EXPECT_TRUE(error.where.starts_with("/k/k/k/"));
  EXPECT_TRUE(read_json_strict(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_EQ(refuse("[[[]]]", {.max_bytes = 100, .max_depth = 2}).where, "/0/0");
}

TEST(JsonReader, RefusesTextOverItsBound) {
  EXPECT_EQ(refuse(R"("0123456789")", {.max_bytes = 11, .max_depth = 1}).code,
            ErrorCode::kTooLarge);
  EXPECT_TRUE(read_json_strict(R"("0123456789")", {.max_bytes = 12, .max_depth = 1}).ok());
}

TEST(JsonReader, ReadsNoFurtherThanAsManyValuesAsAProgramTakesWords) {
  std::string text = R"({"argv":[0)";
  for (int i = 0; i < 300'000; ++i) text += ",0";
  const Error error = refuse(text + " rubbish");
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
  EXPECT_EQ(error.where, "/argv/262142");
}

// What is well-formed is read by a walk of our own.
TEST(JsonReader, ReadsWhatIsWellFormedAsNlohmannDoes) {
  std::vector<std::string> texts = {
      R"([0, -0, 1, -1, 9223372036854775807, -9223372036854775808, 9223372036854775808,
          18446744073709551615, 0.0, -0.0, 1.5, 1e3, 1E-3, -2.5e+10, 1e-400, 123456789.125])",
      R"({"a": {"b": [[], {}, [{}], null, true, false]}, "": "", "c": {"d": 1}, "e": ["f", {"g": 2}]})",
      R"(["\"\\\/\b\f\n\r\t", "\u0000", "\u001F", "\u00e4\u07ff\u0800\uffff\ud800\udc00\udbff\udfff"])",
      " \t\r\n[ 1 , { \"a\" :\t2 , \"b\\n\" : \"\xc3\xa4\x7f\" } ]\n",
      R"("plain")",
      "true",
      "null",
      " 7 ",
      R"({"\u0061\\":"\"", "k":"\\"})"};
  for (std::size_t size = 0; size < 40; ++size) {  // an escape at each place of a run of eight
    const std::string run(size, 'x');
    texts.push_back("[\"" + run + "\\n" + run + "\",\"" + run + "\\u00e4\"]");
  }
  for (const std::string& text : texts) {
    const auto read = read_json_strict(text);
    ASSERT_TRUE(read.ok()) << text;
    const auto expected = nlohmann::json::parse(text);
    EXPECT_EQ(read.value(), expected) << text;
    EXPECT_EQ(read.value().dump(), expected.dump()) << text;
  }
}

TEST(JsonReader, ReadsNoObjectOfMoreKeysThanAnybodyWrites) {
  std::string text = R"({"env":{"k":0)";
  for (int i = 0; i < 20'000; ++i) text += ",\"k" + std::to_string(i) + "\":0";
  const Error error = refuse(text + "}}");
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
  EXPECT_TRUE(error.where.starts_with("/env")) << error.where;
}

TEST(JsonReader, NamesLineColumnAndByteOfBadSyntax) {
  const Error error = refuse("{\n  \"a\": ?\n}");
  EXPECT_EQ(error.code, ErrorCode::kBadJson);
  EXPECT_NE(error.message.find("line 2, column 8"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("byte 10"), std::string::npos) << error.message;
}

TEST(JsonReader, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",          " ",       "{",   "[1,]", "{\"a\":1,}", "NaN",       "Infinity",
        "-Infinity", "01",      "+1",  ".5",   "1.",         "'a'",       "{a:1}",
        "// x\n1",   "/* */ 1", "1 2", "nul",  "\"\n\"",     "\"\\x41\"", "\"\\ud800\""}) {
    EXPECT_EQ(refuse(text).code, ErrorCode::kBadJson) << text;
  }
}

TEST(JsonReader, RefusesIllFormedUtf8WithoutRepeatingIt) {
  for (const char* text : {"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "{\"\x80\": 1}"}) {
    const Error error = refuse(text);
    EXPECT_EQ(error.code, ErrorCode::kBadJson);
    for (const char c : error.message) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
    EXPECT_EQ(error.message.find_first_of("\x80\xff\xc0\xed"), std::string::npos);
  }
}

TEST(JsonReader, RefusesNumbersThatSixtyFourBitsDoNotHold) {
  for (const char* number : {"1e400", "-1e400", "18446744073709551616", "-9223372036854775809"}) {
    const Error in_object = refuse("{\"limits\": {\"pids\": " + std::string(number) + "}}");
    EXPECT_EQ(in_object.code, ErrorCode::kOutOfRange) << number;
    EXPECT_EQ(in_object.where, "/limits/pids") << number;
    EXPECT_EQ(refuse("[0, " + std::string(number) + "]").where, "/1") << number;
    EXPECT_EQ(refuse(number).where, "") << number;
  }
}

TEST(JsonReader, EscapesPointersAsRfc6901Says) {
  std::string pointer = "/a";
  append_to_pointer(pointer, "b~/c");
  EXPECT_EQ(pointer, "/a/b~0~1c");
}

}  // namespace
}  // namespace sbx
