// SPDX-License-Identifier: Apache-2.0
// URLs of proxies: what is taken apart, and what is refused without being repeated.
#include "profile/upstream.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

TEST(Upstream, IsTakenApart) {
  const Result<Upstream> plain = parse_upstream("http://Proxy.Example:3128", "--x");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain.value().host.name, "proxy.example");
  EXPECT_EQ(plain.value().port, 3128);
  EXPECT_EQ(plain.value().authorization, "");
  const Result<Upstream> whole = parse_upstream("http://ann:p%40s%3as@[2001:db8::1]/", "--x");
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(ip_text(whole.value().host.network), "2001:db8::1");
  EXPECT_EQ(whole.value().port, 80);
  EXPECT_EQ(whole.value().authorization, "YW5uOnBAczpz");  // ann:p@s:s
  EXPECT_EQ(parse_upstream("http://a:%C3%a9@h", "--x").value().authorization, "YTrDqQ==");
  EXPECT_EQ(parse_upstream("http://ann@h", "--x").value().authorization, "YW5uOg==");
}

TEST(Upstream, RefusesWhatIsNoneAndDoesNotRepeatIt) {
  for (const char* url :
       {"", "proxy:3128", "https://proxy", "socks5://proxy", "http://", "http://:80", "http://h:0",
        "http://h:65536", "http://h/path", "http://10.0.0.0/8", "http://*.h", "http://a:pw%4@h",
        "http://a:pw%zz@h", "http://a:pw%0d%0a@h", "http://a\n:pw@h", "http://h?pw",
        "http://a:pw@"}) {
    const Result<Upstream> read = parse_upstream(url, "--upstream-proxy");
    ASSERT_FALSE(read.ok()) << url;
    EXPECT_EQ(read.error().code, ErrorCode::kBadFlag);
    EXPECT_EQ(read.error().message.find("pw"), std::string::npos) << read.error().message;
  }
}

TEST(Upstream, UserAndPasswordAreTakenOutOfUrlsOnly) {
  EXPECT_EQ(without_users("http://a:b@h:1/p@q?x@y", Urls::kAlone), "http://h:1/p@q?x@y");
  EXPECT_EQ(without_users("http://a:b@c@h", Urls::kAlone), "http://h");
  EXPECT_EQ(without_users("https://h/a@b", Urls::kAlone), "https://h/a@b");
  EXPECT_EQ(without_users("a:b@h", Urls::kAlone), "a:b@h");
  EXPECT_EQ(without_users("a:b@h:1", Urls::kOfProxy), "h:1");
  EXPECT_EQ(without_users("a@b,.local", Urls::kOfProxy), "a@b,.local");
  EXPECT_EQ(without_users("socks5://a@h", Urls::kOfProxy), "socks5://h");
  EXPECT_EQ(without_users("https://token@h/", Urls::kAlone), "https://h/");
  EXPECT_EQ(without_users("ssh://git@h/x", Urls::kAlone), "ssh://git@h/x");
  EXPECT_EQ(without_users("git@h:x/y", Urls::kAlone), "git@h:x/y");
  EXPECT_EQ(without_users("https://a:b@h,https://c:d@i|direct", Urls::kAlone),
            "https://h,https://i|direct");
  EXPECT_EQ(without_users("me=https://a:b@h/s other=https://c:d@i/s", Urls::kAlone),
            "me=https://h/s other=https://i/s");
  EXPECT_EQ(without_users("", Urls::kAlone), "");
  EXPECT_EQ(without_users("http://a:b c@h", Urls::kAlone), "http://h");
  EXPECT_EQ(without_users("http://h b@c", Urls::kInText), "http://h b@c");
  EXPECT_EQ(without_users("'http://a:b@h' \"c@d\"", Urls::kInText), "'http://h' \"c@d\"");
}

}  // namespace
}  // namespace sbx
