// SPDX-License-Identifier: Apache-2.0
// The forms of strings, and the parts of an entry of network.allow.
#include "profile/forms.h"

#include <gtest/gtest.h>

#include <string>

#include "profile/host_rule.h"

namespace sbx {
namespace {

TEST(Forms, TakeAbsoluteRootsAndKnownVariables) {
  for (const char* path : {"/", "/data", "/data/", "${workspace}", "${workspace}/.env", "${home}/x",
                           "${tmp}", "/a/..b", "/a/b..", "/x/$y"}) {
    EXPECT_TRUE(forms::kRootPath.matches(path)) << path;
  }
  for (const char* path :
       {"", "data", "./data", "..", "/..", "/a/../b", "/a/..", "${workspace}x", "${workspace}/..",
        "${root}", "/a/${home}", "${home}${tmp}", "~", "$HOME", "${workspace"}) {
    EXPECT_FALSE(forms::kRootPath.matches(path)) << path;
  }
  EXPECT_FALSE(forms::kRootPath.matches(std::string_view("/a\0b", 4)));
}

TEST(Forms, TakeRelativePathsToProtect) {
  for (const char* path : {".git/hooks", ".env", "a/b/", "..a", "a//b"}) {
    EXPECT_TRUE(forms::kInnerPath.matches(path)) << path;
  }
  for (const char* path : {"", "/a", ".", "./a", "a/.", "..", "a/../b", "${workspace}/a"}) {
    EXPECT_FALSE(forms::kInnerPath.matches(path)) << path;
  }
}

TEST(Forms, TakeDevicesBelowDevOnly) {
  for (const char* path : {"/dev/fuse", "/dev/dri/renderD128", "/dev/...a"}) {
    EXPECT_TRUE(forms::kDevicePath.matches(path)) << path;
  }
  for (const char* path : {"/dev", "/dev/", "/dev/.", "/dev/..", "/dev/a/../../etc", "/dev//a",
                           "/dev/a/", "/device", "dev/fuse", "/etc/passwd", ""}) {
    EXPECT_FALSE(forms::kDevicePath.matches(path)) << path;
  }
}

TEST(Forms, TakeNamesOfVariablesCallsAndPrograms) {
  EXPECT_TRUE(forms::kEnvName.matches("_A9"));
  for (const char* name : {"", "9A", "A-B", "A=B", "A B", "\xc3\xa9"}) {
    EXPECT_FALSE(forms::kEnvName.matches(name)) << name;
  }
  EXPECT_TRUE(forms::kSyscall.matches("io_uring_setup"));
  EXPECT_FALSE(forms::kSyscall.matches("Mount"));
  EXPECT_FALSE(forms::kSyscall.matches(""));
  EXPECT_TRUE(forms::kProgram.matches("mkfs.*"));
  EXPECT_FALSE(forms::kProgram.matches("git push"));
  EXPECT_FALSE(forms::kProgram.matches("a\n"));
  EXPECT_FALSE(forms::kLabel.matches("a\x1b[0m"));
}

TEST(Forms, TakeOnlyMethodsAndPathsThatARequestMayHave) {
  for (const char* path : {"/", "/a/", "/**", "/a.b/..c/*"}) {
    EXPECT_TRUE(forms::kPathPattern.matches(path)) << path;
  }
  for (const char* path : {"", "a", "//", "/a//b", "/a//", "/./a", "/a/..", "/a?b"}) {
    EXPECT_FALSE(forms::kPathPattern.matches(path)) << path;
  }
  EXPECT_TRUE(forms::kMethod.matches("TRACES"));
  EXPECT_FALSE(forms::kMethod.matches("TRACE"));
  EXPECT_FALSE(forms::kMethod.matches("get"));
  EXPECT_FALSE(forms::kMethod.matches(""));
}

TEST(HostRule, SplitsNamesAndPorts) {
  const auto plain = parse_host_rule("GitHub.com:443");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->kind, HostRule::Kind::kName);
  EXPECT_EQ(plain->name, "github.com");
  EXPECT_EQ(plain->port, 443);
  const auto wild = parse_host_rule("*.pypi.org");
  ASSERT_TRUE(wild);
  EXPECT_EQ(wild->kind, HostRule::Kind::kWildcard);
  EXPECT_EQ(wild->name, "pypi.org");
  EXPECT_EQ(wild->port, std::nullopt);
}

TEST(HostRule, SplitsAddressesNetworksAndPorts) {
  const auto network = parse_host_rule("10.1.0.0/16:5432");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->kind, HostRule::Kind::kNetwork);
  EXPECT_EQ(network->network, ipv4(10, 1, 0, 0));
  EXPECT_EQ(network->prefix, 16);
  EXPECT_EQ(network->port, 5432);
  EXPECT_EQ(parse_host_rule("127.0.0.1")->prefix, 32);
  const auto six = parse_host_rule("[2001:db8::/32]:443");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->kind, HostRule::Kind::kNetwork);
  EXPECT_EQ(six->network, *parse_ip("2001:db8::"));
  EXPECT_TRUE(six->network.is_v6);
  EXPECT_EQ(six->prefix, 32);
  EXPECT_EQ(six->port, 443);
  EXPECT_EQ(parse_host_rule("::1")->prefix, 128);
  EXPECT_EQ(parse_host_rule("fd00::/8")->prefix, 8);
}

TEST(HostRule, TakesAMappedNetworkForItsIpv4One) {
  const auto network = parse_host_rule("::ffff:a01:0/112");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->network, ipv4(10, 1, 0, 0));
  EXPECT_EQ(network->prefix, 16);
  EXPECT_FALSE(parse_host_rule("::ffff:a01:0/90"));  // neither one nor the other
}

TEST(HostRule, CoversNamesAddressesAndPorts) {
  const auto covers = [](const char* rule, const char* name, int port) {
    return covers_host(*parse_host_rule(rule), name, port);
  };
  EXPECT_TRUE(covers("a.test", "a.test", 80));
  EXPECT_TRUE(covers("a.test", "a.test", 443));
  EXPECT_FALSE(covers("a.test", "a.test", 8080));
  EXPECT_FALSE(covers("a.test:8080", "a.test", 80));
  EXPECT_FALSE(covers("a.test", "b.a.test", 80));
  EXPECT_TRUE(covers("*.a.test", "c.b.a.test", 80));
  EXPECT_FALSE(covers("*.a.test", "a.test", 80));
  EXPECT_FALSE(covers("*.a.test", "ba.test", 80));
  EXPECT_TRUE(covers("2001:db8::1", "2001:db8::1", 443));
  EXPECT_TRUE(covers("2001:db8::1", "[2001:db8:0::1]", 443));
  EXPECT_FALSE(covers("2001:db8::1", "[2001:db8::2]", 443));
  EXPECT_TRUE(covers("10.1.0.0/16:5432", "10.1.2.3", 5432));
  EXPECT_FALSE(covers("10.1.0.0/16", "10.2.0.1", 80));
  EXPECT_FALSE(covers("10.1.0.0/16", "a.test", 80));
}

TEST(HostRule, LiesWithinAWiderOne) {
  const auto within = [](const char* rule, const char* wide) {
    return is_within(*parse_host_rule(rule), *parse_host_rule(wide));
  };
  EXPECT_TRUE(within("a.test:1", "a.test:2"));  // whatever the ports
  EXPECT_TRUE(within("b.a.test", "*.a.test"));
  EXPECT_TRUE(within("*.b.a.test", "*.a.test"));
  EXPECT_TRUE(within("*.a.test", "*.a.test"));
  EXPECT_FALSE(within("a.test", "*.a.test"));
  EXPECT_FALSE(within("*.a.test", "b.a.test"));
  EXPECT_FALSE(within("*.a.test", "a.test"));
  EXPECT_TRUE(within("10.1.0.1", "10.0.0.0/8"));
  EXPECT_FALSE(within("10.0.0.0/8", "10.1.0.1"));
  EXPECT_FALSE(within("2001:db8::1", "10.0.0.0/8"));
  EXPECT_FALSE(within("a.test", "0.0.0.0/0"));
}

TEST(HostRule, RefusesEverythingElse) {
  for (const char* text : {"",
                           "*",
                           "*.",
                           "*x.org",
                           "a.*.org",
                           "https://a.org",
                           "a.org/",
                           "a.org:",
                           "a.org:0",
                           "a.org:65536",
                           "a.org:080",
                           "a.org:443:1",
                           "-a.org",
                           "a-.org",
                           "a..org",
                           ".a",
                           "a.org.",
                           "256.1.1.1",
                           "1.2.3",
                           "01.2.3.4",
                           "1.2.3.4/33",
                           "1.2.3.4/01",
                           "1.2.3.4/",
                           "[::1",
                           "[::1]x",
                           "[a.org]",
                           "[::1]:0",
                           ":::",
                           "1:2:3:4:5:6:7:8:9",
                           "::1/129",
                           "::ffff:1.2.3.4",
                           "a b",
                           "a\n",
                           "[]"}) {
    EXPECT_FALSE(parse_host_rule(text)) << text;
  }
  EXPECT_FALSE(parse_host_rule(std::string(64, 'a') + ".org"));
  EXPECT_FALSE(parse_host_rule(std::string_view("1.2.3.4\0", 8)));
}

}  // namespace
}  // namespace sbx
