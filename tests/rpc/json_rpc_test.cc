// SPDX-License-Identifier: Apache-2.0
// Messages: what is read, what is refused with which code, and that ids come back as they were.
#include "rpc/json_rpc.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/corpus.h"

namespace sbx {
namespace {

RpcMessage message_of(const std::string& line) {
  auto read = read_message(line);
  if (const auto* refusal = std::get_if<RpcRefusal>(&read)) {
    ADD_FAILURE() << line << ": " << error_line(refusal->error);
    return {};
  }
  return std::get<RpcMessage>(read);
}

RpcRefusal refusal_of(const std::string& line) {
  auto read = read_message(line);
  if (std::holds_alternative<RpcMessage>(read)) {
    ADD_FAILURE() << "accepted: " << line;
    return {};
  }
  return std::get<RpcRefusal>(read);
}

TEST(JsonRpc, ReadsARequestWithoutTouchingIdAndParams) {
  const RpcMessage message = message_of(
      R"( {"jsonrpc": "2.0", "id": 1e3, "method": "r\u0075n", "params": {"a" : [1.50, "é\n"]}} )");
  EXPECT_EQ(message.id, "1e3");
  EXPECT_EQ(message.method, "run");
  EXPECT_EQ(message.params, R"({"a" : [1.50, "é\n"]})");
}

TEST(JsonRpc, EchoesEveryIdExactly) {
  for (const std::string id :
       {"0", "-1", "123456789012345678901234567890", "1.0", "9007199254740993", "\"a\"", "\"\"",
        R"("\u0041\ud83d\ude00")", "null"}) {
    const RpcMessage message = message_of(R"({"jsonrpc":"2.0","method":"list","id":)" + id + "}");
    EXPECT_EQ(message.id, id);
    EXPECT_EQ(write_result(message.id, "[]"),
              R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":[]})");
  }
}

TEST(JsonRpc, TellsANotificationFromARequestWithANullId) {
  EXPECT_EQ(message_of(R"({"jsonrpc":"2.0","method":"list"})").id, "");
  EXPECT_EQ(message_of(R"({"jsonrpc":"2.0","method":"list","id":null})").id, "null");
}

TEST(JsonRpc, ReadsResponsesForThoseWhoAsk) {
  const RpcMessage message = message_of(R"({"jsonrpc":"2.0","id":"e1","result":{"a":1}})");
  EXPECT_EQ(message.method, "");
  EXPECT_EQ(message.result, R"({"a":1})");
  EXPECT_EQ(message_of(R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})").error, R"({"code":1})");
  EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1}})").id, "null");
}

TEST(JsonRpc, WhatIsNoJsonIsAParseErrorWithANullId) {
  for (const std::string line : {"{",
                                 "}",
                                 "nul",
                                 "01",
                                 "1.",
                                 "+1",
                                 "[1,]",
                                 "{\"a\":1,}",
                                 "{\"a\" 1}",
                                 "{a:1}",
                                 "\"\\x\"",
                                 "\"\\ud800\"",
                                 "\"\\ud800\\u0041\"",
                                 "\"\t\"",
                                 "{} {}",
                                 "\"\xff\"",
                                 "\"\xed\xa0\x80\"",
                                 "\"\xc0\x80\"",
                                 "'a'",
                                 "[",
                                 "\xef\xbb\xbf{}"}) {
    const RpcRefusal refusal = refusal_of(line);
    EXPECT_EQ(refusal.code, kRpcParseError) << line;
    EXPECT_EQ(refusal.error.code, ErrorCode::kBadJson) << line;
    EXPECT_EQ(refusal.id, "null");
  }
}

TEST(JsonRpc, IllFormedTextIsSaidWithItsByte) {
  EXPECT_EQ(refusal_of("\xff").error.message, "not valid JSON: ill-formed UTF-8 (byte 1)");
  EXPECT_EQ(refusal_of("{\"a\": \"\xc3\xa9\xff\"}").error.message,
            "not valid JSON: ill-formed UTF-8 (byte 10)");
}

struct Case {
  std::string line;
  int code;
  ErrorCode error;
  std::string id;
  std::string where;
};

TEST(JsonRpc, WhatIsNoRequestIsSaidWithItsPlace) {
  const std::vector<Case> cases = {
      {"[]", kRpcInvalidRequest, ErrorCode::kBadMessage, "null", ""},
      {"7", kRpcInvalidRequest, ErrorCode::kBadMessage, "null", ""},
      {R"({"id":1,"method":"x"})", kRpcInvalidRequest, ErrorCode::kBadMessage, "1", "/jsonrpc"},
      {R"({"jsonrpc":"1.0","id":1,"method":"x"})", kRpcInvalidRequest, ErrorCode::kBadMessage, "1",
       "/jsonrpc"},
      {R"({"jsonrpc":2.0,"id":1,"method":"x"})", kRpcInvalidRequest, ErrorCode::kBadMessage, "1",
       "/jsonrpc"},
      {R"({"jsonrpc":"2.0","id":{},"method":"x"})", kRpcInvalidRequest, ErrorCode::kBadMessage,
       "null", "/id"},
      {R"({"jsonrpc":"2.0","id":true,"method":"x"})", kRpcInvalidRequest, ErrorCode::kBadMessage,
       "null", "/id"},
      {R"({"jsonrpc":"2.0","id":")" + std::string(2000, 'x') + R"(","method":"x"})",
       kRpcInvalidRequest, ErrorCode::kTooLarge, "null", "/id"},
      {R"({"jsonrpc":"2.0","id":1,"method":7})", kRpcInvalidRequest, ErrorCode::kBadMessage, "1",
       "/method"},
      {R"({"jsonrpc":"2.0","id":1,"method":""})", kRpcInvalidRequest, ErrorCode::kBadMessage, "1",
       "/method"},
      {R"({"jsonrpc":"2.0","id":1})", kRpcInvalidRequest, ErrorCode::kBadMessage, "1", "/method"},
      {R"({"jsonrpc":"2.0","id":1,"metod":"x"})", kRpcInvalidRequest, ErrorCode::kUnknownField, "1",
       "/metod"},
      {R"({"jsonrpc":"2.0","id":1,"id":2,"method":"x"})", kRpcInvalidRequest,
       ErrorCode::kDuplicateKey, "null", "/id"},
      {R"({"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"x"})", kRpcInvalidRequest,
       ErrorCode::kDuplicateKey, "null", "/id"},
      {R"({"jsonrpc":"2.0","id":1,"method":"x","params":[]})", kRpcBadParams, ErrorCode::kWrongType,
       "1", ""},
      {R"({"jsonrpc":"2.0","id":1,"method":"x","params":"y"})", kRpcBadParams,
       ErrorCode::kWrongType, "1", ""},
  };
  for (const Case& expected : cases) {
    const RpcRefusal refusal = refusal_of(expected.line);
    EXPECT_EQ(refusal.code, expected.code) << expected.line;
    EXPECT_EQ(refusal.error.code, expected.error) << expected.line;
    EXPECT_EQ(refusal.id, expected.id) << expected.line;
    EXPECT_EQ(refusal.error.where, expected.where) << expected.line;
  }
}

TEST(JsonRpc, ANotificationsBadParamsAreLeftToItsMethod) {
  const RpcMessage message = message_of(R"({"jsonrpc":"2.0","method":"x","params":5})");
  EXPECT_EQ(message.id, "");
  EXPECT_EQ(message.params, "5");
  EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":null,"method":"x","params":5})").code,
            kRpcBadParams);
}

TEST(JsonRpc, NestingBombsAreWalkedWithoutRecursion) {
  const std::size_t depth = 4 << 20;
  const std::string bomb = std::string(depth, '[') + std::string(depth, ']');
  const RpcMessage message =
      message_of(R"({"jsonrpc":"2.0","id":5,"method":"run","params":{"a":)" + bomb + "}}");
  EXPECT_EQ(message.id, "5");  // the method says what is wrong with it, to the right caller
  EXPECT_EQ(refusal_of(std::string(depth, '[')).code, kRpcParseError);
  EXPECT_EQ(refusal_of(bomb).code, kRpcInvalidRequest);
}

TEST(JsonRpc, ManyMembersAreRefusedSoon) {
  std::string line = R"({"jsonrpc":"2.0")";
  for (int i = 0; i < 200'000; ++i) line += ",\"m" + std::to_string(i) + "\":0";
  EXPECT_EQ(refusal_of(line + "}").error.code, ErrorCode::kBadMessage);
}

TEST(JsonRpc, AnErrorCarriesItsFourParts) {
  const Error error{ErrorCode::kOutOfRange, "a\nb", "/timeout_ms", "above 0"};
  const auto json = nlohmann::json::parse(write_error("7", rpc_code(error), error));
  EXPECT_EQ(json["error"]["code"], kRpcBadParams);
  EXPECT_EQ(json["error"]["data"], (nlohmann::json{{"code", "out_of_range"},
                                                   {"message", "a\nb"},
                                                   {"where", "/timeout_ms"},
                                                   {"hint", "above 0"}}));
}

TEST(JsonRpc, NothingThatIsWrittenHoldsALineEnd) {
  const Error error{ErrorCode::kInternal, "a\nb\r", "c\n", "\n"};
  for (const std::string& line :
       {write_error("null", kRpcInternal, error), write_notification("a\nb", "{}")}) {
    EXPECT_EQ(line.find_first_of("\r\n"), std::string::npos) << line;
  }
}

TEST(JsonRpc, ReplaysTheFuzzersCorpus) {
  const auto files = corpus_files("rpc/corpus");
  EXPECT_GE(files.size(), 10U);
  for (const CorpusFile& file : files) EXPECT_TRUE(fuzz_target_holds(file.bytes)) << file.path;
}

}  // namespace
}  // namespace sbx
