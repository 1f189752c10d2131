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
