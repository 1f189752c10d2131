// SPDX-License-Identifier: Apache-2.0
#include "model/address.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

TEST(Address, ReadsAndPrintsBothFamilies) {
  EXPECT_EQ(ip_text(*parse_ip("192.0.2.1")), "192.0.2.1");
  EXPECT_EQ(ip_text(*parse_ip("2001:DB8::1")), "2001:db8::1");
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "fe80::1%lo", "[::1]", "256.1.1.1", "::g"}) {
    EXPECT_FALSE(parse_ip(text)) << text;
  }
}

TEST(Address, TakesAMappedAddressForItsIpv4One) {
  EXPECT_EQ(*parse_ip("::ffff:127.0.0.1"), ipv4(127, 0, 0, 1));
}

TEST(Address, ComparesNetworksBitByBit) {
  EXPECT_TRUE(in_network(ipv4(10, 1, 2, 3), ipv4(10, 0, 0, 0), 8));
  EXPECT_TRUE(in_network(ipv4(10, 1, 2, 127), ipv4(10, 1, 2, 64), 26));
  EXPECT_FALSE(in_network(ipv4(10, 1, 2, 128), ipv4(10, 1, 2, 64), 26));
  EXPECT_TRUE(in_network(ipv4(1, 2, 3, 4), ipv4(0, 0, 0, 0), 0));
  EXPECT_FALSE(in_network(ipv4(1, 2, 3, 4), *parse_ip("::"), 0));
  EXPECT_TRUE(in_network(*parse_ip("fe80::1"), *parse_ip("fe80::"), 10));
}

}  // namespace
}  // namespace sbx
