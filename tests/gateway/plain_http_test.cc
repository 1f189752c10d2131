// SPDX-License-Identifier: Apache-2.0
#include "gateway/plain_http.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

using State = PlainHttp::State;

using Hosts = std::vector<std::string>;

Hosts hosts_of(std::string_view text) {
  const PlainHttp heard = read_plain_http(text);
  EXPECT_EQ(heard.state, State::kHead) << text;
  return heard.hosts;
}

TEST(PlainHttp, FindsTheHostsOfARequest) {
  EXPECT_EQ(hosts_of("GET / HTTP/1.1\r\nX: y\r\nHOST:  A.Test.:80\r\n\r\n"), Hosts{"a.test"});
  EXPECT_EQ(hosts_of("GET http://b.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n"),
            (Hosts{"b.test", "a.test"}));
  EXPECT_EQ(hosts_of("GET / HTTP/1.1\r\nHost: a.test\r\nhost : b.test\r\n\r\n"),
            (Hosts{"a.test", "b.test"}));
  EXPECT_EQ(hosts_of("GET / HTTP/1.1\r\nHost:\r\n b.test\r\nX: y\r\n z\r\n\r\n"),
            (Hosts{"", "b.test"}));
  EXPECT_EQ(hosts_of("GET / HTTP/1.1\r\nX: y\r\n\tHost: b.test\r\n\r\n"), Hosts{"b.test"});
  EXPECT_EQ(hosts_of("GET / HTTP/1.0\r\n\r\n"), Hosts{});
}

// RFC 9113, section 3.4: what follows it is not HTTP/1.
TEST(PlainHttp, NamesHostsThatAreNotSeenWhereHttp2Begins) {
  EXPECT_EQ(hosts_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Hosts{std::string(kUnseenHosts)});
  EXPECT_EQ(read_plain_http("PRI * HTTP/2.0\r\n").state, State::kReading);
}

TEST(PlainHttp, TakesWhatTheLoosestServerTakesForARequest) {
  for (const std::string_view line :
       {"PROPFIND / HTTP/1.1", "get / HTTP/1.1", "\r\n\r\nGET / HTTP/1.1", "GET key HTTP/1.1",
        "GET\t/a b HTTP/1.1", "GET /HTTP/ HTTP/1.1", "X-Y! * HTTP/1.0", "GET /a\rHTTP/1.1"}) {
    EXPECT_EQ(hosts_of(std::string(line) + "\r\nHost: a.test\r\n\r\n"), Hosts{"a.test"}) << line;
    for (std::size_t size = line.size(); size > line.size() - 8; --size) {
      EXPECT_EQ(read_plain_http(line.substr(0, size)).state, State::kReading) << line;
    }
  }
}

TEST(PlainHttp, HoldsARequestAndNothingElse) {
  for (const std::string_view text : {"", "GE", "PROPFIND", "\r\n"}) {
    EXPECT_EQ(read_plain_http(text).state, State::kBeginning) << text;
  }
  for (const std::string_view text :
       {"GET ", "GET / HTTP/1.1\r\nHost: a.te", "GET / HTTP/1.1\r\nHost: a.test\r\n"}) {
    EXPECT_EQ(read_plain_http(text).state, State::kReading) << text;
  }
  EXPECT_EQ(read_plain_http(std::string(300, '\n')).state, State::kReading);
  for (const std::string_view text :
       {"GET key\r\n", "EHLO a\r\n", "PING\r\n", "*1\r\n", "SSH-2.0-x y\r\n", "83 <34>1 2003",
        "{\"id\": 1}", "one word after", "NICK a\r\nUSER a HTTP/1.1\r\n", "\x16\x03"}) {
    EXPECT_EQ(read_plain_http(text).state, State::kOther) << text;
  }
  EXPECT_EQ(read_plain_http(std::string(300, 'a')).state, State::kOther);
}

TEST(PlainHttp, FindsAHostInBracketsOrBehindAUser) {
  EXPECT_EQ(hosts_of("GET ftp://u:p@b.test/x HTTP/1.1\r\nHost: [fd77::1]:80\r\n\r\n"),
            (Hosts{"b.test", "[fd77::1]"}));
}

// In one piece, and byte by byte.
std::string found_in(const std::string& text) {
  const auto is_sought = [](const std::string& host) {
    return host == "a.test" || host == kUnseenHosts;
  };
  RequestScan whole(is_sought);
  RequestScan slow(is_sought);
  std::string found = whole.feed(text);
  for (const char c : text) slow.feed({&c, 1});
  EXPECT_EQ(slow.feed(""), found) << text.substr(0, 200);
  return found;
}

constexpr const char* kFirst = "POST / HTTP/1.1\r\nHost: b.test\r\nContent-Length: 3\r\n\r\nabc";

TEST(RequestScan, FindsAHostOfALaterRequest) {
  const std::string first = kFirst;
  for (const std::string& later :
       {std::string("GET / HTTP/1.1\r\nHost: A.test:80\r\n\r\n"),
        std::string("GET / HTTP/1.1\nX: y\n host : a.test.\n"),
        std::string("GET / HTTP/1.1\r\nHost:\r\n a.test\r\n"),
        std::string("GET http://u@a.test/x HTTP/1.1\r\n"),
        std::string("GET HTTPS://a.test:80 HTTP/1.1\r\nHost: b.test\r\n"),
        "GET /" + std::string(90000, 'x') + " HTTP/1.1\r\nHost: a.test\r\n",
        "GET http://a.test/" + std::string(90000, 'x') + " HTTP/1.1\r\n",
        "GET / HTTP/1.1" + std::string(90000, ' ') + "\r\nHost: a.test\r\n",
        "GET / HTTP/1.1\r\nHost: a.test" + std::string(90000, ' ') + "\r\n"}) {
    EXPECT_EQ(found_in(first + later), "a.test") << later.substr(0, 200);
    EXPECT_EQ(found_in(first + std::string(50000, 'x') + later), "a.test") << later.substr(0, 200);
  }
  EXPECT_EQ(found_in(first + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), kUnseenHosts);
}

TEST(RequestScan, FindsAHostBehindManyBlanks) {
  for (const std::size_t size : {15000U, 16372U, 90000U}) {
    const std::string blanks(size, ' ');
    for (const std::string& field : {"Host:" + blanks + "a.test", "Host" + blanks + ":a.test",
                                     "Host:\r\n" + blanks + "a.test"}) {
      EXPECT_EQ(found_in(kFirst + ("GET / HTTP/1.1\r\n" + field) + "\r\n"), "a.test") << size;
    }
  }
}

// Some servers take it for one all the same.
TEST(RequestScan, FindsAHostWhereTheFirstLineIsTakenForNoRequest) {
  for (const std::string& line :
       {std::string(300, 'A') + " / HTTP/1.1", std::string("G@T / HTTP/1.1"),
        std::string("G\x80T / HTTP/1.1"), std::string("GET ?one HTTP/1.1"),
        std::string("\r\n\r\nG@T / HTTP/1.1"), std::string("GET\x85/\xa0HTTP/1.1")}) {
    EXPECT_EQ(found_in(line + "\r\nHost: a.test\r\n\r\n"), "a.test") << line;
    EXPECT_EQ(found_in(line + "\r\n\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "a.test") << line;
  }
}

TEST(RequestScan, FindsNoneInWhatIsNoRequest) {
  for (const char* const body :
       {"Host: a.test\r\n", "x: y\r\nHost: a.test\r\n\r\nhttp://a.test/\r\n",
        "GET /?u=http://a.test/ HTTP/1.1\r\nReferer: http://a.test/\r\nHost: b.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: b.test\r\n\r\nHost: a.test\r\n"}) {
    EXPECT_EQ(found_in(std::string(kFirst) + body), "") << body;
  }
  for (const char* const first : {"EHLO a\r\n", "GET key\r\n", "\x16\x03\n"}) {
    EXPECT_EQ(found_in(first + std::string("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")), "") << first;
  }
}

}  // namespace
}  // namespace sbx
