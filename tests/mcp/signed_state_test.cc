// SPDX-License-Identifier: Apache-2.0
// What a client carries: nobody else makes it, and it opens once.
#include "rpc/signed_state.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

using Clock = SignedState::Clock;
constexpr std::chrono::minutes kGoodFor{10};

StateKey key(std::uint8_t fill) {
  StateKey out{};
  out.fill(fill);
  return out;
}

// RFC 4231, test cases 1, 2 and 6.
TEST(Hmac, AgreesWithThePublishedCases) {
  EXPECT_EQ(hmac_sha256(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256(std::string(131, '\xaa'),
                        "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(SignedState, OpensOnce) {
  SignedState states(key(1), kGoodFor);
  const auto now = Clock::now();
  const std::string state = states.seal("content", "request", now);
  const Result<std::string> opened = states.open(state, "request", now);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(opened.value(), "content");
  EXPECT_FALSE(states.open(state, "request", now).ok());
}

TEST(SignedState, IsForOneRequest) {
  SignedState states(key(1), kGoodFor);
  const auto now = Clock::now();
  const std::string state = states.seal("content", "request", now);
  EXPECT_FALSE(states.open(state, "another", now).ok());
  EXPECT_TRUE(states.open(state, "request", now).ok());  // the attempt did not spend it
}

TEST(SignedState, Expires) {
  SignedState states(key(1), kGoodFor);
  const auto now = Clock::now();
  const std::string state = states.seal("content", "request", now);
  EXPECT_FALSE(states.open(state, "request", now + kGoodFor).ok());
}

TEST(SignedState, CannotBeMadeByOthers) {
  SignedState states(key(1), kGoodFor);
  SignedState others(key(2), kGoodFor);
  const auto now = Clock::now();
  const std::string state = states.seal("content", "request", now);
  EXPECT_FALSE(others.open(state, "request", now).ok());
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::string forged = state;
    forged[i] = forged[i] == '1' ? '2' : '1';
    EXPECT_FALSE(states.open(forged, "request", now).ok()) << i;
  }
  for (const char* text : {"", ".", "..", "1..", "1.00.", "x.y.z", "1.2.3.4"}) {
    EXPECT_FALSE(states.open(text, "request", now).ok()) << text;
  }
}

}  // namespace
}  // namespace sbx
