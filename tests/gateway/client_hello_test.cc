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

std::string with_length(const std::string& bytes, int size) {
  std::string text;
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) {
    text += static_cast<char>(bytes.size() >> shift & 0xFF);
  }
  return text + bytes;
}

// An entry of the list of names.
std::string named(const std::string& name) { return std::string(1, '\0') + with_length(name, 2); }

std::string named_by(const std::string& extension) {
  return std::string(2, '\0') + with_length(extension, 2);
}

struct RawHello {
  std::string session, suites, compressions, extensions;
};

// All but the extensions.
std::string head_of(const RawHello& hello) {
  return "\3\3" + std::string(32, 'r') + with_length(hello.session, 1) +
         with_length(hello.suites, 2) + with_length(hello.compressions, 1);
}

std::string hello_record(const std::string& body) {
  return tls_record(22, "\1" + with_length(body, 3));
}

std::string hello_of(const RawHello& hello) {
  return hello_record(head_of(hello) + with_length(hello.extensions, 2));
}

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

// What a server may read in another way than the gateway does.
TEST(ClientHello, RefusesOneThatIsNotWhatItsLengthsSay) {
  const std::string suite("\x13\1", 2);
  const std::string good = named("a.test");
  const std::string list = with_length(good, 2);
  EXPECT_EQ(hear(hello_of({"", suite, "\1", named_by(list)})).names,
            std::vector<std::string>{"a.test"});
  std::string other_type = good;
  other_type[0] = 1;
  std::string long_name = good;
  long_name[2] = 7;
  std::string long_list = list;
  long_list[1] = static_cast<char>(long_list[1] + 1);
  for (const std::string& extension :
       {with_length(good + named("b.test"), 2), list + "x", with_length(other_type, 2),
        with_length(long_name, 2), long_list, with_length(named({"a.test\0b.test", 13}), 2),
        with_length(named(""), 2), with_length(named("."), 2)}) {
    EXPECT_EQ(state_of(hello_of({"", suite, "\1", named_by(extension)})), State::kBad);
  }
  const std::string extensions = named_by(list);
  EXPECT_EQ(state_of(hello_of({"", "", "\1", extensions})), State::kBad);
  EXPECT_EQ(state_of(hello_of({"", "\x13", "\1", extensions})), State::kBad);
  EXPECT_EQ(state_of(hello_of({"", suite, "", extensions})), State::kBad);
  EXPECT_EQ(state_of(hello_of({std::string(33, 's'), suite, "\1", extensions})), State::kBad);
  const std::string head = head_of({"", suite, "\1", ""});
  EXPECT_EQ(state_of(hello_record(head)), State::kReading);  // none at all, as before TLS 1.3
  const std::string whole = with_length(extensions, 2);
  const std::string cut = extensions.substr(0, extensions.size() - 1);
  for (const std::string& body : {head.substr(0, 20), head + whole.substr(0, whole.size() - 1),
                                  head + whole + "x", head + with_length(cut, 2)}) {
    EXPECT_EQ(state_of(hello_record(body)), State::kBad);
  }
}

TEST(ClientHello, TakesNothingBehindAPieceOfAMessageForSealed) {
  const std::string first = client_hello({"a.test", 0, 0});
  const std::string second = client_hello({"other.test", 0, 0}).substr(5);
  const std::string exchange = kKeyExchange.substr(5);
  const std::string more(10, 'x');
  for (const std::string& bytes :
       {tls_record(22, second.substr(0, 3)) + tls_record(22, second.substr(3) + more),
        tls_record(22, exchange.substr(0, 10)) +
            tls_record(22, exchange.substr(10) + second + more),
        tls_record(22, second.substr(0, 20)) + kAlert,
        tls_record(22, exchange.substr(0, 10)) + kAlert}) {
    EXPECT_EQ(state_of(first + kChangeCipher + bytes), State::kBad);
  }
  EXPECT_EQ(state_of(first + std::string("\x16\3\1\xff\xff", 5)), State::kBad);
}

TEST(ClientHello, HoldsNothingBackOfAMessageInPieces) {
  const std::string exchange = kKeyExchange.substr(5);
  const std::string begun = client_hello({"a.test", 0, 0}) + tls_record(22, exchange.substr(0, 10));
  const std::string rest = tls_record(22, exchange.substr(10));
  EXPECT_EQ(hear(begun).held, 0U);
  EXPECT_EQ(hear(begun + rest.substr(0, 5)).held, 0U);
  EXPECT_EQ(hear(begun + rest).held, 0U);
}

TEST(ClientHello, GivesUpBeyondItsBound) {
  EXPECT_EQ(state_of(client_hello({"a.test", 0, 17000})), State::kBad);
  const std::string drip = client_hello({"a.test", 1, 15000});
  EXPECT_EQ(state_of(drip.substr(0, kMaxClientHello)), State::kBad);
}

}  // namespace
}  // namespace sbx
