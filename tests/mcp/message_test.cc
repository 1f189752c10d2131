// SPDX-License-Identifier: Apache-2.0
// Lines of the protocol → messages and what they say of themselves.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rpc/mcp_message.h"

namespace sbx {
namespace {

McpContext context(const std::string& meta, bool is_open = false, bool elicits = false) {
  auto read = read_mcp_context("1", McpJson::parse(R"({"_meta":)" + meta + "}"), is_open, elicits);
  EXPECT_TRUE(std::holds_alternative<McpContext>(read));
  return std::holds_alternative<McpContext>(read) ? std::get<McpContext>(read) : McpContext{};
}

constexpr const char* kVersion = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")";

TEST(McpMessage, TellsRequestsNotificationsAndResponsesApart) {
  const auto kind = [](std::string_view line) {
    return std::get<McpMessage>(read_mcp_message(line)).kind;
  };
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"), McpMessage::Kind::kRequest);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","method":"notifications/x"})"),
            McpMessage::Kind::kNotification);
  EXPECT_EQ(kind(R"({"jsonrpc":"2.0","id":"s","result":{}})"), McpMessage::Kind::kResponse);
}

TEST(McpMessage, EchoesTheIdOfWhatItRefuses) {
  const auto refusal = std::get<McpRefusal>(read_mcp_message(R"({"id":"a","method":"ping"})"));
  EXPECT_EQ(refusal.id, "\"a\"");
  EXPECT_EQ(refusal.code, kMcpInvalidRequest);
  EXPECT_EQ(std::get<McpRefusal>(read_mcp_message("{")).code, kMcpParseError);
  EXPECT_EQ(
      std::get<McpRefusal>(read_mcp_message(R"({"jsonrpc":"2.0","id":1,"method":"p","params":3})"))
          .code,
      kMcpBadParams);
}

TEST(McpMessage, NobodyIsToldOfANotificationsBadParams) {
  const std::string start = R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":)";
  for (const std::string params : {"5", "[]", R"({"a":1,"a":2})", R"({"a":1e999})"}) {
    const auto read = read_mcp_message(start + params + "}");
    const auto* const message = std::get_if<McpMessage>(&read);
    ASSERT_NE(message, nullptr) << params;
    EXPECT_EQ(message->kind, McpMessage::Kind::kNotification);
    EXPECT_EQ(message->method, "notifications/cancelled");
    EXPECT_EQ(message->params, "{}");
  }
}

// As `serve` answers it.
TEST(McpMessage, JsonBeyondItsBoundsIsNoParseError) {
  const auto nested = [](std::size_t depth) {
    std::string params = R"({"a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']');
    return R"({"jsonrpc":"2.0","id":1,"method":"p","params":)" + params + "}}";
  };
  EXPECT_TRUE(std::holds_alternative<McpMessage>(read_mcp_message(nested(64))));
  const struct {
    std::string line;
    int code;
    const char* name;
    const char* where;  // as JSON, its beginning
  } cases[] = {
      {nested(65), kMcpBadParams, "too_deep", R"("/a/0/0)"},
      {R"({"jsonrpc":"2.0","id":1,"method":"p","params":{"a":{"b":1,"b":2}}})", kMcpBadParams,
       "duplicate_key", R"("/a/b")"},
      {R"({"jsonrpc":"2.0","id":1,"method":"p","method":"q"})", kMcpInvalidRequest, "duplicate_key",
       R"("/method")"},
      {R"({"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}})", kMcpInvalidRequest, "duplicate_key",
       R"("/result/a")"},
      {std::string(5000, '['), kMcpParseError, "bad_json", "null"},
  };
  for (const auto& expected : cases) {
    const auto refusal = std::get<McpRefusal>(read_mcp_message(expected.line));
    EXPECT_EQ(refusal.code, expected.code) << expected.line;
    const McpJson data = McpJson::parse(mcp_error(refusal)).at("error").at("data");
    EXPECT_EQ(data.at("code"), expected.name) << expected.line;
    EXPECT_TRUE(data.at("where").dump().starts_with(expected.where)) << data;
  }
}

TEST(McpContext, ComesFromTheRequestItself) {
  const std::string meta =
      std::string("{") + kVersion +
      R"(,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"progressToken":5})";
  const McpContext read = context(meta);
  EXPECT_TRUE(read.is_modern);
  EXPECT_TRUE(read.has_elicitation);
  EXPECT_EQ(read.progress_token, "5");
  // What an earlier `initialize` said is of no account.
  EXPECT_FALSE(
      context(std::string("{") + kVersion + R"(,"io.modelcontextprotocol/clientCapabilities":{}})",
              true, true)
          .has_elicitation);
}

TEST(McpContext, OrFromTheHandshake) {
  EXPECT_FALSE(context("{}", true, true).is_modern);
  EXPECT_TRUE(context("{}", true, true).has_elicitation);
  EXPECT_TRUE(
      std::holds_alternative<McpRefusal>(read_mcp_context("1", McpJson::object(), false, false)));
}

TEST(McpContext, FormsAreMeantWhereNoModeIsNamed) {
  EXPECT_TRUE(elicits_forms(McpJson::parse(R"({"elicitation":{}})")));
  EXPECT_TRUE(elicits_forms(McpJson::parse(R"({"elicitation":{"form":{},"url":{}}})")));
  EXPECT_FALSE(elicits_forms(McpJson::parse(R"({"elicitation":{"url":{}}})")));
  EXPECT_FALSE(elicits_forms(McpJson::parse(R"({})")));
  EXPECT_FALSE(elicits_forms(McpJson::parse(R"({"elicitation":null})")));
}

TEST(McpContext, AnotherRevisionIsAnsweredWithOurs) {
  const auto read = read_mcp_context(
      "1", McpJson::parse(R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}})"),
      true, false);
  const McpRefusal& refusal = std::get<McpRefusal>(read);
  EXPECT_EQ(refusal.code, kMcpUnsupportedVersion);
  EXPECT_EQ(refusal.data, R"({"supported":["2026-07-28"],"requested":"2027-01-01"})");
}

TEST(McpMessage, OnlyTheCurrentRevisionHasAResultType) {
  EXPECT_EQ(mcp_result("1", McpJson::object(), false, "1"),
            R"({"jsonrpc":"2.0","id":1,"result":{}})");
  EXPECT_EQ(
      McpJson::parse(mcp_result("1", McpJson::object(), true, "1")).at("result").at("resultType"),
      "complete");
}

}  // namespace
}  // namespace sbx
