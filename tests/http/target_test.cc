// SPDX-License-Identifier: Apache-2.0
#include "http/target.h"

#include <gtest/gtest.h>

#include "http/rules.h"
#include "support/host_rules.h"

namespace sbx::http {
namespace {

bool matches(std::string_view pattern, std::string_view path) {
  const auto target = read_target(path);
  return target.ok() && matches_path(pattern_segments(pattern, false), target.value().as_data);
}

TEST(Target, GoesUpstreamInItsNormalFormOrAsItWas) {
  const auto upstream = [](std::string_view text) { return read_target(text).value().upstream; };
  EXPECT_EQ(upstream("/a/%62?x=%zz"), "/a/%62?x=%zz");
  EXPECT_EQ(upstream("/a/./b//c/../d/"), "/a/b/d/");
  EXPECT_EQ(upstream("/a/.."), "/");
  EXPECT_EQ(upstream("/%40s%2fp"), "/%40s%2fp");
  EXPECT_EQ(read_target("/%61%7E%2f").value().path, "/a~%2F");
}

TEST(Target, RefusesWhatServersReadInDifferentWays) {
  for (const char* const text :
       {"",       "a",      "*",        "/../a",      "/%2e%2e/", "/a/.%2E/b", "/a/..%2fb",
        "/a/%2e", "/..;/a", "/a;/..;x", "/a\\b",      "/%5c",     "/%00",      "/%0A",
        "/%7f",   "/%",     "/%4",      "/%zz",       "/%u0041",  "/%c0%af",   "/%e9",
        "/%252e", "/%252F", "/%25%32e", "/%25%32%65", "/%25%325", "/%25%32",   "/a b",
        "/\x80",  "/a#b",   "/?a b",    "/?a#b",      "/?\x7f"}) {
    if (std::string_view(text) == "/%25%32")
      continue;  // decoded once it is "%2", which is no escape
    EXPECT_FALSE(read_target(text).ok()) << text;
  }
  EXPECT_TRUE(read_target("/" + std::string(32767, 'a')).ok());
  EXPECT_FALSE(read_target("/" + std::string(32768, 'a')).ok());
  for (const char* const text : {"/a;b", "/a%25", "/%2541", "/a;.."}) {
    EXPECT_TRUE(read_target(text).ok()) << text;
  }
}

TEST(Target, MatchesPatternsWhole) {
  EXPECT_TRUE(matches("/a/*", "/a/b"));
  EXPECT_FALSE(matches("/a/*", "/a/"));
  EXPECT_FALSE(matches("/a/*", "/a/b/c"));
  EXPECT_TRUE(matches("/a/**", "/a/"));
  EXPECT_TRUE(matches("/a/**", "/a/b/c"));
  EXPECT_FALSE(matches("/a/**", "/a"));
  EXPECT_TRUE(matches("/a/**/z", "/a/z"));
  EXPECT_TRUE(matches("/a/**/z", "/a/b/c/z"));
  EXPECT_TRUE(matches("/repos/acme-*/x", "/repos/acme-1/x"));
  EXPECT_FALSE(matches("/repos/acme-*/x", "/repos/acm/x"));
  EXPECT_TRUE(matches("/**", "/"));
  EXPECT_FALSE(matches("/a", "/A"));
}

TEST(Rules, JudgeAnEscapedSlashAsBoth) {
  const Rules rules({{host_rule("h.test:443"), {{"GET"}}, {{"/a/*", "/@s%2fp"}}, {}, false}});
  const auto allows = [&](std::string_view path) {
    return rules.judge("h.test", 443, "GET", read_target(path).value()).kind ==
           Verdict::Kind::kAllow;
  };
  EXPECT_TRUE(allows("/a/b"));
  EXPECT_FALSE(allows("/a/b%2fc"));
  EXPECT_TRUE(allows("/@s%2Fp"));
}

TEST(Rules, CoverEachParameterOfTheQueryOrNone) {
  const auto covers = [](std::vector<std::string> patterns, std::string_view target) {
    const Rules rules({{host_rule("h.test"), {}, {}, std::move(patterns), false}});
    return rules.judge("h.test", 443, "GET", read_target(target).value()).kind ==
           Verdict::Kind::kAllow;
  };
  const std::vector<std::string> patterns = {"page=*", "state=open", "q=a b", "flag"};
  for (const char* target :
       {"/", "/?", "/?page=2", "/?page=", "/?page=2&state=open&flag", "/?&page=1&", "/?p%61ge=1",
        "/?state=%6fpen", "/?q=a%20b", "/?page=1&page=2", "/?page=a%26state%3Dx"}) {
    EXPECT_TRUE(covers(patterns, target)) << target;
  }
  for (const char* target : {"/?state=closed", "/?page=1&state=closed", "/?page", "/?flag=1",
                             "/?PAGE=1", "/?xpage=1", "/?page=1;state=closed", "/?page=%zz",
                             "/?q=a+b", "/?state=open&state=closed", "/?=", "/?state%3Dopen"}) {
    EXPECT_FALSE(covers(patterns, target)) << target;
  }
  EXPECT_TRUE(covers({}, "/"));
  EXPECT_FALSE(covers({}, "/?a"));
  EXPECT_TRUE(covers({"*"}, "/?a=b&c"));
  EXPECT_TRUE(covers({"q=*"}, "/?q=a+b"));
  EXPECT_TRUE(covers({"q=a b", "q=a%2Bb"}, "/?q=a+b"));
  EXPECT_FALSE(covers({"q=*"}, "/?q=1;r=2"));
}

TEST(Rules, TheFirstThatCoversDecides) {
  const Rules rules({{host_rule("h.test"), {{"GET"}}, {{"/a"}}, {}, true},
                     {host_rule("h.test"), {{"GET"}}, {}, {}, false}});
  const auto judge = [&](std::string_view name, int port, std::string_view method) {
    return rules.judge(name, port, method, read_target("/a").value());
  };
  EXPECT_EQ(judge("h.test", 443, "GET").kind, Verdict::Kind::kAsk);
  EXPECT_EQ(judge("h.test", 443, "HEAD").kind, Verdict::Kind::kRefuse);
  EXPECT_EQ(judge("h.test", 8443, "HEAD").kind, Verdict::Kind::kAllow);  // no rule of its own
}

TEST(Rules, SomeLookAtTheHostAlone) {
  const Rules rules({{host_rule("whole.test"), {}, {}, {}, false},
                     {host_rule("whole.test"), {}, {}, {}, true},
                     {host_rule("*.part.test"), {}, {}, {}, false},
                     {host_rule("a.part.test"), {}, {{"/a"}}, {}, false},
                     {host_rule("query.test"), {}, {}, std::vector<std::string>{}, false}});
  for (const char* const name : {"whole.test", "b.part.test", "other.test"}) {
    EXPECT_FALSE(rules.limit_requests(name, 443)) << name;
  }
  EXPECT_TRUE(rules.limit_requests("a.part.test", 443));
  EXPECT_FALSE(rules.limit_requests("a.part.test", 8443));
  EXPECT_TRUE(rules.limit_requests("query.test", 80));
}

}  // namespace
}  // namespace sbx::http
