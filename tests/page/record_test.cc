// SPDX-License-Identifier: Apache-2.0
#include "page/record.h"

#include <gtest/gtest.h>

namespace sbx::page {
namespace {

Reading read_with(const std::string& members) {
  return read_record(R"({"time":"2026-11-20T08:00:00.250Z","status":"exited",)" + members + "}");
}

TEST(Record, ReadsWhatAnAuditLogHolds) {
  const Reading reading = read_with(
      R"("command":"a\nb","exit_code":3,"duration_ms":1.5,"limit":null,"redactions":{"count":2},
         "denials":[{"layer":"network","operation":"connect","target":"h:1","count":4,"program":"p","grant":"g"}],
         "connections":[{"name":null,"address":"::1","port":22,"bytes_out":1,"bytes_in":2,
                         "requests":[{"method":"GET","host":"h","path":"/","status":404}]}],
         "error":{"message":"m","code":"c"},"unheard_of":[{}])");
  ASSERT_EQ(reading.failure, "");
  const Record& record = reading.record;
  EXPECT_EQ(record.time_ms, 1'795'161'600'250);
  EXPECT_EQ(record.command, "a\nb");
  EXPECT_EQ(record.exit_code, 3);
  EXPECT_EQ(record.duration_ms, 1.5);
  EXPECT_EQ(record.redactions, 2U);
  ASSERT_EQ(record.refusals.size(), 1U);
  EXPECT_EQ(record.refusals[0].target, "h:1");
  EXPECT_EQ(record.refusals[0].count, 4U);
  ASSERT_EQ(record.connections.size(), 1U);
  EXPECT_EQ(record.connections[0].host, "::1");
  EXPECT_EQ(record.connections[0].requests[0].status, 404);
  EXPECT_EQ(record.error, "c: m");
}

TEST(Record, SaysWhyALineIsNone) {
  EXPECT_EQ(read_record("x").failure, "not JSON, from byte 1 on");
  EXPECT_EQ(read_record("{} {}").failure, "more than one value, from byte 4 on");
  EXPECT_EQ(read_record("[]").failure, "not an object");
  EXPECT_EQ(read_record("{}").failure, "no time");
  EXPECT_EQ(read_record(R"({"time":"2026-11-20T08:00:00Z"})").failure, "no status");
  EXPECT_EQ(read_record(R"({"time":7})").failure, "time is no time");
  EXPECT_EQ(read_with(R"("command":5)").failure, "command is no text");
  EXPECT_EQ(read_with(R"("exit_code":"x")").failure, "exit_code is no number");
  EXPECT_EQ(read_with(R"("denials":{})").failure, "denials: not a list");
  EXPECT_EQ(read_with(R"("denials":[{"count":"x"}])").failure, "denials: count is no number");
}

TEST(Record, CutsALongCommandBetweenCharacters) {
  for (const std::string& piece : {std::string("\\ud83d\\ude00"), std::string("\\n"),
                                   std::string("\\\\"), std::string("é"), std::string("a")}) {
    for (const char* shift : {"", "x", "xx", "xxx", "xxxx", "xxxxx"}) {
      std::string command = shift;
      while (command.size() < 20'000) command += piece;
      const Reading reading = read_with("\"command\":\"" + command + "\"");
      ASSERT_EQ(reading.failure, "") << piece;
      EXPECT_LT(reading.record.command.size(), 8200U) << piece;
      EXPECT_TRUE(reading.record.command.ends_with("…")) << piece;
      EXPECT_EQ(reading.record.command.find("\uFFFD"), std::string::npos) << piece << shift;
      EXPECT_EQ(reading.record.command.find("\\u"), std::string::npos) << piece << shift;
    }
  }
}

TEST(Record, KeepsAThousandEntriesOfAList) {
  std::string denials = "{}";
  for (int i = 0; i < 5000; ++i) denials += ",{}";
  EXPECT_EQ(read_with("\"denials\":[" + denials + "],\"denials\":[" + denials + "]")
                .record.refusals.size(),
            1024U);
}

TEST(Record, CountsTheConnectionsAndRequestsThatItDoesNotKeep) {
  std::string entries = "{}";
  for (int i = 1; i < 1500; ++i) entries += ",{}";
  const Record record = read_with("\"unlisted_requests\":7,\"connections\":[{\"requests\":[" +
                                  entries + "]}," + entries + "]")
                            .record;
  EXPECT_EQ(record.connections.size(), 1024U);
  EXPECT_EQ(record.more_connections, 477U);
  EXPECT_EQ(record.more_requests, 476U);
  EXPECT_EQ(record.unlisted_requests, 7U);
}

TEST(Record, ReadsATimeAndNothingElse) {
  EXPECT_EQ(read_time("1970-01-01T00:00:00.001Z"), 1);
  EXPECT_EQ(read_time("1970-01-02T00:00:00Z"), 86'400'000);
  for (const char* text :
       {"", "1970", "1970-02-30T00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:61Z", "1970-01-01T00:00:00", "1970-01-01 00:00:00Z",
        "1970-01-01T00:00:00.1Z", "+970-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z", "1970-01-01T00:00:00.001Zx"}) {
    EXPECT_EQ(read_time(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace sbx::page
