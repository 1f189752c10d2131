// SPDX-License-Identifier: Apache-2.0
#include "gateway/dns_message.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

std::string wire(std::initializer_list<std::string> parts) {
  std::string bytes;
  for (const std::string& part : parts) bytes += part;
  return bytes;
}
std::string raw(const char* bytes, std::size_t size) { return {bytes, size}; }
#define RAW(text) raw(text, sizeof(text) - 1)

const std::string kQuestion = RAW("\1a\4test\0\0\1\0\1");

std::string reply_header(int answers, int authorities = 0,
                         const std::string& flags = RAW("\x81\x80")) {
  return wire({RAW("\x12\x34"), flags, RAW("\0\1\0"), std::string(1, static_cast<char>(answers)),
               RAW("\0"), std::string(1, static_cast<char>(authorities)), RAW("\0\0")});
}

TEST(DnsMessage, RoundTripsAQuestion) {
  const auto read = read_dns_query(write_dns_query(7, "Example.Test", DnsType::kAaaa));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->code, DnsCode::kOk);
  EXPECT_EQ(read->query.id, 7);
  EXPECT_EQ(read->query.name, "example.test");
  EXPECT_EQ(read->query.type, 28);
  EXPECT_TRUE(read->query.has_edns);
  EXPECT_EQ(read->query.udp_size, 1232);
}

TEST(DnsMessage, RepeatsTheQuestionLetterForLetter) {
  const auto read = read_dns_query(write_dns_query(7, "eXaMpLe.TeSt", DnsType::kA));
  const std::string reply =
      write_dns_reply(read->query, DnsCode::kOk, {ipv4(198, 18, 0, 1)}, 30, 512);
  EXPECT_NE(reply.find("eXaMpLe"), std::string::npos);
  const auto back = read_dns_reply(reply, 7, "example.test", DnsType::kA);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->addresses, std::vector<IpAddress>{ipv4(198, 18, 0, 1)});
  EXPECT_EQ(back->ttl_s, 30U);
}

TEST(DnsMessage, MarksAnAnswerThatDoesNotFitAsTruncated) {
  const auto read = read_dns_query(write_dns_query(7, "a.test", DnsType::kA));
  const std::vector<IpAddress> many(100, ipv4(192, 0, 2, 1));
  const std::string reply = write_dns_reply(read->query, DnsCode::kOk, many, 30, 512);
  EXPECT_LE(reply.size(), 512U);
  EXPECT_TRUE(read_dns_reply(reply, 7, "a.test", DnsType::kA)->truncated);
}

TEST(DnsMessage, AnswersOddQueriesWithTheFittingCode) {
  const std::string good = write_dns_query(7, "a.test", DnsType::kA);
  EXPECT_FALSE(read_dns_query(good.substr(0, 11)));
  std::string response = good, update = good, two = good, chaos = good;
  response[2] = static_cast<char>(0x80);
  update[2] = 5 << 3;
  two[5] = 2;
  chaos[12 + 8 + 3] = 3;
  EXPECT_FALSE(read_dns_query(response));
  EXPECT_EQ(read_dns_query(update)->code, DnsCode::kNotImplemented);
  EXPECT_EQ(read_dns_query(two)->code, DnsCode::kFormatError);
  std::string answered = good, decided = good;
  answered[7] = decided[9] = 1;
  EXPECT_EQ(read_dns_query(answered)->code, DnsCode::kFormatError);
  EXPECT_EQ(read_dns_query(decided)->code, DnsCode::kFormatError);
  EXPECT_EQ(read_dns_query(good.substr(0, 15))->code, DnsCode::kFormatError);
  EXPECT_EQ(read_dns_query(good.substr(0, good.size() - 1))->code, DnsCode::kFormatError);
  EXPECT_EQ(read_dns_query(chaos)->code, DnsCode::kRefused);
}

const std::string kOneQuery = RAW("\0\1\1\0\0\1\0\0\0\0\0\0");

TEST(DnsMessage, ReadsNoFurtherThanItsBounds) {
  const std::string end = RAW("\0\0\1\0\1");
  const std::string label = "\x3f" + std::string(63, 'a');
  const std::string beyond = "\x40" + std::string(64, 'a');
  const auto code = [](const std::string& query) { return read_dns_query(query)->code; };
  EXPECT_EQ(code(wire({kOneQuery, label, label, label, end})), DnsCode::kOk);
  EXPECT_EQ(code(wire({kOneQuery, label, label, label, label, end})), DnsCode::kFormatError);
  EXPECT_EQ(code(wire({kOneQuery, beyond, end})), DnsCode::kFormatError);
  std::string many = wire({kOneQuery, label, end});
  many[10] = 1;
  for (int i = 0; i < 256; ++i) many += RAW("\0\0\x29\2\0\0\0\0\0\0\0");
  EXPECT_EQ(code(many), DnsCode::kOk);
  many[11] = 1;
  EXPECT_EQ(code(many + RAW("\0\0\x29\2\0\0\0\0\0\0\0")), DnsCode::kFormatError);
}

TEST(DnsMessage, TakesItsSizeFromNoOtherRecord) {
  std::string query = wire({kOneQuery, RAW("\1a\4test\0\0\1\0\1"), RAW("\0\0\1\4\0\0\0\0\0\0\0")});
  query[11] = 1;
  const auto read = read_dns_query(query);
  EXPECT_EQ(read->code, DnsCode::kOk);
  EXPECT_FALSE(read->query.has_edns);
  EXPECT_EQ(read->query.udp_size, 512);
}

TEST(DnsMessage, ReadsNoHostNameWhereThereIsNone) {
  // A dot inside a label must not pass for a separator.
  const std::string dotted = wire({RAW("\0\1\1\0\0\1\0\0\0\0\0\0"), RAW("\6a.test\0\0\1\0\1")});
  ASSERT_TRUE(read_dns_query(dotted));
  EXPECT_EQ(read_dns_query(dotted)->query.name, "");
  const std::string root = wire({RAW("\0\1\1\0\0\1\0\0\0\0\0\0"), RAW("\0\0\2\0\1")});
  EXPECT_EQ(read_dns_query(root)->query.name, "");
}

TEST(DnsMessage, FollowsAliasesAndTakesTheLeastTtl) {
  const std::string reply =
      wire({reply_header(3), kQuestion,
            RAW("\xC0\x0C\0\5\0\1\0\0\0\x20\0\4\1b\xC0\x0E"),  // a.test → b.test, 32 s
            RAW("\1b\xC0\x0E\0\1\0\1\0\0\0\x50\0\4\xC0\0\2\1"),
            RAW("\1c\xC0\x0E\0\1\0\1\0\0\0\x50\0\4\xC0\0\2\2")});  // of nobody's asking
  const auto read = read_dns_reply(reply, 0x1234, "a.test", DnsType::kA);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->addresses, std::vector<IpAddress>{ipv4(192, 0, 2, 1)});
  EXPECT_EQ(read->ttl_s, 32U);
}

TEST(DnsMessage, EndsOnAliasesThatGoInCircles) {
  const std::string reply =
      wire({reply_header(2), kQuestion, RAW("\xC0\x0C\0\5\0\1\0\0\0\x20\0\4\1b\xC0\x0E"),
            RAW("\1b\xC0\x0E\0\5\0\1\0\0\0\x20\0\2\xC0\x0C")});
  EXPECT_TRUE(read_dns_reply(reply, 0x1234, "a.test", DnsType::kA)->addresses.empty());
}

TEST(DnsMessage, BelievesOnlyTheAnswerToItsQuestion) {
  const std::string reply =
      wire({reply_header(1), kQuestion, RAW("\xC0\x0C\0\1\0\1\0\0\0\x50\0\4\xC0\0\2\1")});
  EXPECT_TRUE(read_dns_reply(reply, 0x1234, "a.test", DnsType::kA));
  EXPECT_TRUE(read_dns_reply(reply, 0x1234, "A.TEST", DnsType::kA));
  EXPECT_FALSE(read_dns_reply(reply, 0x1235, "a.test", DnsType::kA));
  EXPECT_FALSE(read_dns_reply(reply, 0x1234, "b.test", DnsType::kA));
  EXPECT_FALSE(read_dns_reply(reply, 0x1234, "a.test", DnsType::kAaaa));
  EXPECT_FALSE(read_dns_reply(reply.substr(0, reply.size() - 1), 0x1234, "a.test", DnsType::kA));
  std::string query = reply;
  query[2] = 1;
  EXPECT_FALSE(read_dns_reply(query, 0x1234, "a.test", DnsType::kA));
  std::string two = reply, chaos = reply;
  two[5] = 2;
  chaos[12 + kQuestion.size() - 1] = 3;
  EXPECT_FALSE(read_dns_reply(two, 0x1234, "a.test", DnsType::kA));
  EXPECT_FALSE(read_dns_reply(chaos, 0x1234, "a.test", DnsType::kA));
}

TEST(DnsMessage, TakesNoAddressOfAnotherKind) {
  const std::string good = RAW("\xC0\x0C\0\1\0\1\0\0\0\x50\0\4\xC0\0\2\1");
  const auto found = [&](const std::string& record) {
    const auto read = read_dns_reply(wire({reply_header(2), kQuestion, record, good}), 0x1234,
                                     "a.test", DnsType::kA);
    return read ? static_cast<int>(read->addresses.size()) : -1;
  };
  EXPECT_EQ(found(good), 2);
  EXPECT_EQ(found(RAW("\xC0\x0C\0\1\0\3\0\0\0\x50\0\4\xC0\0\2\2")), 1);    // of another class
  EXPECT_EQ(found(RAW("\6a.test\0\0\1\0\1\0\0\0\x50\0\4\xC0\0\2\2")), 1);  // of no host
  EXPECT_EQ(found(RAW("\xC0\x0C\0\5\0\1\0\0\0\x50\0\3\1.\0")), 1);         // for no host
  EXPECT_EQ(found(RAW("\xC0\x0C\0\1\0\1\0\0\0\x50\0\5\xC0\0\2\2\1")), 1);  // too long
  EXPECT_EQ(found(RAW("\xC0\x0C\0\5\0\1\0\0\0\x50\0\2\xFF\xFF")), -1);     // to nowhere
}

TEST(DnsMessage, TakesSomeAddressesAndReadsSomeRecords) {
  const auto read = [](int answers) {
    std::string reply = wire({reply_header(0), kQuestion});
    reply[6] = static_cast<char>(answers >> 8);
    reply[7] = static_cast<char>(answers);
    for (int i = 0; i < answers; ++i) reply += RAW("\xC0\x0C\0\1\0\1\0\0\0\x50\0\4\xC0\0\2\1");
    return read_dns_reply(reply, 0x1234, "a.test", DnsType::kA);
  };
  EXPECT_EQ(read(64)->addresses.size(), 64U);
  EXPECT_EQ(read(256)->addresses.size(), 64U);
  EXPECT_FALSE(read(257));
}

TEST(DnsMessage, KeepsANoForAsLongAsTheZoneSays) {
  const std::string soa =
      wire({RAW("\xC0\x0E\0\6\0\1\0\0\0\x50\0\x16\0\0"), std::string(16, 0), RAW("\0\0\0\7")});
  const std::string reply = wire({reply_header(0, 1, RAW("\x81\x83")), kQuestion, soa});
  const auto read = read_dns_reply(reply, 0x1234, "a.test", DnsType::kA);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->code, DnsCode::kNoSuchName);
  EXPECT_EQ(read->ttl_s, 7U);
  const std::string other =  // that is no less long
      wire({RAW("\xC0\x0E\0\x10\0\1\0\0\0\x50\0\x16\0\0"), std::string(20, 1)});
  const std::string both = wire({reply_header(0, 2, RAW("\x81\x83")), kQuestion, other, soa});
  EXPECT_EQ(read_dns_reply(both, 0x1234, "a.test", DnsType::kA)->ttl_s, 7U);
}

TEST(DnsMessage, RefusesPointersThatDoNotGoBackwards) {
  for (const char* pointer : {"\xC0\x0C", "\xC0\x20", "\xFF\xFF"}) {
    const std::string query =
        wire({RAW("\0\1\1\0\0\1\0\0\0\0\0\0"), raw(pointer, 2), RAW("\0\1\0\1")});
    EXPECT_EQ(read_dns_query(query)->code, DnsCode::kFormatError);
  }
}

TEST(DnsMessage, AsksForHostNamesOnly) {
  const std::string label = std::string(63, 'a') + ".";
  for (const std::string& name :
       {std::string(), std::string("a..b"), std::string("a b"), std::string(64, 'a'),
        std::string("a."), std::string(254, 'a'), label + label + label + std::string(62, 'a')}) {
    EXPECT_EQ(write_dns_query(1, name, DnsType::kA), "") << name;
  }
}

}  // namespace
}  // namespace sbx
