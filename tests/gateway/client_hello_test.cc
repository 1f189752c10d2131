// SPDX-License-Identifier: Apache-2.0
#include "gateway/client_hello.h"

#include <gtest/gtest.h>

#include "gateway/hello.h"

namespace sbx {
namespace {

using Kind = ClientHello::Kind;
using test::client_hello;

TEST(ClientHello, FindsTheServerNameInLowerCase) {
  const ClientHello hello = read_client_hello(client_hello({"Example.TEST.", 0, 0}));
  EXPECT_EQ(hello.kind, Kind::kHello);
  EXPECT_EQ(hello.server_name, "example.test");
}

TEST(ClientHello, ReadsOneWithoutAName) {
  const ClientHello hello = read_client_hello(client_hello({"", 0, 10}));
  EXPECT_EQ(hello.kind, Kind::kHello);
  EXPECT_EQ(hello.server_name, "");
}

TEST(ClientHello, JoinsRecordsOfAnySize) {
  for (const std::size_t size : {1U, 2U, 3U, 40U}) {
    EXPECT_EQ(read_client_hello(client_hello({"a.test", size, 100})).server_name, "a.test");
  }
}

TEST(ClientHello, WaitsForTheRestAtEveryPointButNeverPassesIt) {
  const std::string hello = client_hello({"a.test", 9, 50});
  for (std::size_t size = 0; size < hello.size(); ++size) {
    EXPECT_EQ(read_client_hello(hello.substr(0, size)).kind, Kind::kNeedMore) << size;
  }
  EXPECT_EQ(read_client_hello(hello + "early data").kind, Kind::kHello);
}

TEST(ClientHello, KnowsWhatIsNoTls) {
  for (const char* text : {"GET / HTTP/1.1", "SSH-2.0-x", "\x16\x01", "\x17\x03\x03"}) {
    EXPECT_EQ(read_client_hello(text).kind, Kind::kNotTls) << text;
  }
}

TEST(ClientHello, RefusesWhatClaimsToBeOneAndIsNot) {
  const std::string good = client_hello({"a.test", 0, 0});
  std::string server = good, empty = good, other_record = client_hello({"a.test", 20, 0});
  server[5] = 2;
  empty[3] = empty[4] = 0;
  other_record[5 + 20] = 23;
  std::string long_session = good;
  long_session[5 + 4 + 34] = 33;
  for (const std::string& bytes : {server, empty, other_record, long_session}) {
    EXPECT_EQ(read_client_hello(bytes).kind, Kind::kBad);
  }
}

TEST(ClientHello, RefusesTwoNames) {
  // The extension twice: which one a server believes is anybody's guess.
  const std::string one = client_hello({"a.test", 0, 0});
  const std::size_t extensions = one.size() - (4 + 2 + 1 + 2 + 6);
  const std::string extension = one.substr(extensions);
  std::string two = one + extension;
  const auto add = [&](std::size_t offset, std::size_t value) {
    const std::size_t sum = (static_cast<unsigned char>(two[offset]) << 8 |
                             static_cast<unsigned char>(two[offset + 1])) +
                            value;
    two[offset] = static_cast<char>(sum >> 8);
    two[offset + 1] = static_cast<char>(sum & 0xFF);
  };
  add(3, extension.size());
  add(7, extension.size());
  add(extensions - 2, extension.size());
  EXPECT_EQ(read_client_hello(two).kind, Kind::kBad);
}

TEST(ClientHello, GivesUpBeyondItsBound) {
  EXPECT_EQ(read_client_hello(client_hello({"a.test", 0, 17000})).kind, Kind::kBad);
  const std::string drip = client_hello({"a.test", 1, 15000});
  EXPECT_EQ(read_client_hello(drip.substr(0, kMaxClientHello)).kind, Kind::kBad);
}

}  // namespace
}  // namespace sbx
