// SPDX-License-Identifier: Apache-2.0
#include "gateway/rules.h"

#include <gtest/gtest.h>

#include <string>

namespace sbx {
namespace {

Rules rules(const std::vector<std::string>& texts, NetworkMode mode = NetworkMode::kAllowlist) {
  std::vector<HostRule> list;
  list.reserve(texts.size());
  for (const std::string& text : texts) list.push_back(parse_host_rule(text).value());
  return {mode, list, {}};
}

Endpoint to(const std::string& address, int port) {
  return {parse_ip(address).value(), static_cast<std::uint16_t>(port)};
}

TEST(Rules, ANameWithoutAPortMeansWebPorts) {
  const Rules allow = rules({"Example.test"});
  EXPECT_TRUE(allow.allows_name("example.test", 80));
  EXPECT_TRUE(allow.allows_name("example.test", 443));
  EXPECT_FALSE(allow.allows_name("example.test", 22));
  EXPECT_FALSE(allow.allows_name("sub.example.test"));
  EXPECT_FALSE(allow.allows_name("example.test.evil"));
  EXPECT_FALSE(allow.allows_name("notexample.test"));
}

TEST(Rules, AWildcardCoversWhatIsBelowAndNotTheNameItself) {
  const Rules allow = rules({"*.example.test:443"});
  EXPECT_TRUE(allow.allows_name("a.example.test", 443));
  EXPECT_TRUE(allow.allows_name("a.b.example.test", 443));
  EXPECT_FALSE(allow.allows_name("example.test", 443));
  EXPECT_FALSE(allow.allows_name("badexample.test", 443));
  EXPECT_FALSE(allow.allows_name("a.example.test", 80));
}

TEST(Rules, SpecialAddressesMustBeListedToBeReached) {
  const Rules allow = rules({"a.test:80", "169.254.169.254:80", "127.0.0.0/8:5000"});
  const std::vector<IpNetwork> own = {ipv4(192, 0, 2, 9)};
  EXPECT_TRUE(allow.allows_resolved(to("10.0.0.1", 80), own));
  EXPECT_TRUE(allow.allows_resolved(to("169.254.169.254", 80), own));
  EXPECT_FALSE(allow.allows_resolved(to("169.254.169.253", 80), own));
  EXPECT_TRUE(allow.allows_resolved(to("127.0.0.1", 5000), own));
  EXPECT_FALSE(allow.allows_resolved(to("127.0.0.1", 80), own));
  EXPECT_FALSE(allow.allows_resolved(to("192.0.2.9", 80), own));
  EXPECT_FALSE(allow.allows_resolved(to("64:ff9b::c000:209", 80), own));
  EXPECT_TRUE(allow.allows_resolved(ipv4(127, 0, 0, 1), own));
  EXPECT_FALSE(allow.allows_resolved(ipv4(192, 0, 2, 9), own));
}

TEST(Rules, WhatANameLeadsToIsListedWithThePortsOfTheName) {
  const auto entries = [](const std::vector<std::string>& allow, const char* name, const char* to,
                          NetworkMode mode = NetworkMode::kAllowlist) {
    return rules(allow, mode).entries_for(name, parse_ip(to).value());
  };
  using Entries = std::vector<std::string>;
  EXPECT_EQ(entries({"a.test:22", "b.test:99"}, "a.test", "10.0.0.1"), Entries{"10.0.0.1:22"});
  EXPECT_EQ(entries({"a.test"}, "a.test", "fd00::1"), Entries{"fd00::1"});
  EXPECT_EQ(entries({"a.test", "*.test:22"}, "a.test", "fd00::1"),
            (Entries{"[fd00::1]:22", "[fd00::1]:80", "[fd00::1]:443"}));
  EXPECT_EQ(entries({}, "a.test", "10.0.0.1", NetworkMode::kOutbound), Entries{"10.0.0.1"});
}

TEST(Rules, ANetworkThatMeansAnythingDoesNotListTheHost) {
  const Rules allow = rules({"0.0.0.0/0:80", "[::/0]:80"});
  EXPECT_TRUE(allow.allows_literal(to("8.8.8.8", 80), {}));
  EXPECT_FALSE(allow.allows_literal(to("127.0.0.1", 80), {}));
  EXPECT_FALSE(allow.allows_literal(to("169.254.169.254", 80), {}));
  EXPECT_FALSE(allow.allows_literal(to("::1", 80), {}));
}

TEST(Rules, NoneAllowsHostPortsOnly) {
  const std::vector<int> ports = {5000};
  const auto rule = parse_host_rule("a.test").value();
  const Rules none(NetworkMode::kNone, {&rule, 1}, ports);
  EXPECT_FALSE(none.allows_name("a.test"));
  EXPECT_TRUE(none.is_host_port(to("127.0.0.1", 5000)));
  EXPECT_TRUE(none.is_host_port(to("::1", 5000)));
  EXPECT_FALSE(none.is_host_port(to("127.0.0.2", 5000)));
  EXPECT_FALSE(none.is_host_port(to("127.255.255.254", 5000)));
  EXPECT_FALSE(none.is_host_port(to("10.0.0.1", 5000)));
  EXPECT_FALSE(none.is_host_port(to("127.0.0.1", 5001)));
}

}  // namespace
}  // namespace sbx
