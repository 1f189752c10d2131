// SPDX-License-Identifier: Apache-2.0
#include "gateway/plain_http.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

using State = PlainHttp::State;

TEST(PlainHttp, FindsTheHostOfARequest) {
  const auto host = [](std::string_view text) {
    const PlainHttp heard = read_plain_http(text);
    EXPECT_EQ(heard.state, State::kHost) << text;
    return heard.host;
  };
  EXPECT_EQ(host("GET / HTTP/1.1\r\nX: y\r\nHOST:  A.Test.:80\r\n"), "a.test");
  EXPECT_EQ(host("GET http://b.test/x HTTP/1.1\r\nHost: a.test\r\n"), "b.test");
  EXPECT_EQ(host("GET / HTTP/1.0\r\n\r\n"), "");
}

TEST(PlainHttp, HoldsARequestAndNothingElse) {
  EXPECT_EQ(read_plain_http("").state, State::kBeginning);
  EXPECT_EQ(read_plain_http("GE").state, State::kBeginning);
  EXPECT_EQ(read_plain_http("GET ").state, State::kReading);
  EXPECT_EQ(read_plain_http("GET / HTTP/1.1\r\nHost: a.te").state, State::kReading);
  EXPECT_EQ(read_plain_http("GET key\r\n").state, State::kOther);
  EXPECT_EQ(read_plain_http("EHLO a\r\n").state, State::kOther);
}

}  // namespace
}  // namespace sbx
