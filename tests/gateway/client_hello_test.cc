// SPDX-License-Identifier: Apache-2.0
#include "gateway/client_hello.h"

#include <gtest/gtest.h>

#include <vector>

#include "gateway/hello.h"

namespace sbx {
namespace {

using State = HelloReader::State;
using test::client_hello;
using test::tls_record;

struct Heard {
  State state;
  std::vector<std::string> names;
  std::size_t held;
};

Heard hear(const std::string& bytes) {
  std::vector<std::string> names;
  HelloReader reader([&](const std::string& name) {
    names.push_back(name);
    return name != "other.test";
  });
  const State state = reader.feed(bytes);
  return {state, names, reader.held()};
}

State state_of(const std::string& bytes) { return hear(bytes).state; }

const std::string kAlert = tls_record(21, "\1\x70");
const std::string kChangeCipher = tls_record(20, "\1");
const std::string kData = tls_record(23, std::string(40, 'd'));
// A handshake record that is encrypted, as the Finished of TLS 1.2.
const std::string kSealedFinished = tls_record(22, std::string(40, '\x7f'));
// The key exchange of TLS 1.2.
const std::string kKeyExchange =
    tls_record(22, std::string("\x10\0\0\x21", 4) + std::string(33, 'k'));

TEST(ClientHello, FindsTheServerNameInLowerCase) {
  const Heard heard = hear(client_hello({"Example.TEST.", 0, 0}));
  EXPECT_EQ(heard.state, State::kReading);
  EXPECT_EQ(heard.names, std::vector<std::string>{"example.test"});
  EXPECT_EQ(heard.held, 0U);
}

TEST(ClientHello, ReadsOneWithoutAName) {
  const Heard heard = hear(client_hello({"", 0, 10}));
  EXPECT_EQ(heard.state, State::kReading);
  EXPECT_EQ(heard.names, std::vector<std::string>{""});
}

TEST(ClientHello, JoinsRecordsOfAnySize) {
  for (const std::size_t size : {1U, 2U, 3U, 40U}) {
    EXPECT_EQ(hear(client_hello({"a.test", size, 100})).names, std::vector<std::string>{"a.test"});
  }
}

TEST(ClientHello, HoldsItBackAtEveryPointUntilItIsWhole) {
  const std::string hello = client_hello({"a.test", 9, 50});
  for (std::size_t size = 1; size < hello.size(); ++size) {
    const Heard heard = hear(hello.substr(0, size));
    EXPECT_EQ(heard.state, State::kReading) << size;
    EXPECT_EQ(heard.held, size);
  }
}

TEST(ClientHello, KnowsWhatIsNoTls) {
  for (const char* text : {"GET / HTTP/1.1", "SSH-2.0-x", "\x80\x2e\x01\x03\x01", "\x13"}) {
    EXPECT_EQ(state_of(text), State::kNotTls) << text;
  }
}

TEST(ClientHello, RefusesAFirstRecordThatIsNoHello) {
  for (const std::string& first : {kAlert, kChangeCipher, kData, kKeyExchange}) {
    EXPECT_EQ(state_of(first + client_hello({"a.test", 0, 0})), State::kBad);
  }
  for (const char* first : {"\x14", "\x15", "\x17"}) EXPECT_EQ(state_of(first), State::kBad);
}

TEST(ClientHello, RefusesEveryMajorVersionButThreeAndTakesAnyMinorOne) {
  for (int version = 0; version < 256; ++version) {
    std::string major = client_hello({"a.test", 0, 0});
    std::string minor = major;
    major[1] = minor[2] = static_cast<char>(version);
    EXPECT_EQ(state_of(major), version == 3 ? State::kReading : State::kBad) << version;
    EXPECT_EQ(hear(minor).names, std::vector<std::string>{"a.test"}) << version;
  }
}

TEST(ClientHello, JudgesASecondHelloWhateverStandsBeforeIt) {
  const std::string first = client_hello({"a.test", 0, 0});
  const std::string early = client_hello({"a.test", 0, 0, true});
  for (const std::size_t size : {0U, 1U, 3U, 31U, 32U, 50U}) {
    const std::string second = client_hello({"other.test", size, 40});
    for (const std::string& before :
         {first, first + kAlert, first + kAlert + kAlert, first + kChangeCipher,
          first + kChangeCipher + kAlert, early + kData, early + kChangeCipher + kData + kData,
          first + kKeyExchange, first + first}) {
      EXPECT_EQ(state_of(before + second), State::kRefused) << size;
    }
  }
}

TEST(ClientHello, HoldsBackASecondHelloAndNothingBeforeIt) {
  const std::string first = client_hello({"a.test", 0, 0}) + kChangeCipher;
  const std::string second = client_hello({"a.test", 40, 100});
  for (std::size_t size = 1; size < second.size(); ++size) {
    EXPECT_EQ(hear(first + second.substr(0, size)).held, size);
  }
  EXPECT_EQ(hear(first + second).held, 0U);
}

TEST(ClientHello, ReadsNoFurtherThanTheHandshakeInPlain) {
  const std::string first = client_hello({"a.test", 0, 0});
  const std::string other = client_hello({"other.test", 0, 0});
  // TLS 1.3; TLS 1.2; TLS 1.2 with a session that is resumed.
  for (const std::string& before :
       {first + kChangeCipher + kData, first + kData, first + kKeyExchange + kChangeCipher,
        first + kChangeCipher + kSealedFinished}) {
    const Heard heard = hear(before + other);
    EXPECT_EQ(heard.state, State::kSealed);
    EXPECT_EQ(heard.held, 0U);
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
  std::string other_message = good;
  other_message[4] = static_cast<char>(other_message[4] + 1);
  other_message += '\x10';
  const std::string heartbeat = good + tls_record(24, "x");
  for (const std::string& bytes :
       {server, empty, other_record, long_session, other_message, heartbeat}) {
    EXPECT_EQ(state_of(bytes), State::kBad);
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
  EXPECT_EQ(state_of(two), State::kBad);
}

TEST(ClientHello, GivesUpBeyondItsBound) {
  EXPECT_EQ(state_of(client_hello({"a.test", 0, 17000})), State::kBad);
  const std::string drip = client_hello({"a.test", 1, 15000});
  EXPECT_EQ(state_of(drip.substr(0, kMaxClientHello)), State::kBad);
}

}  // namespace
}  // namespace sbx
