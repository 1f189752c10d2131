// SPDX-License-Identifier: Apache-2.0
#include "gateway/address.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

TEST(Address, PrintsBothFamiliesWithTheirPort) {
  EXPECT_EQ(endpoint_text({*parse_ip("::1"), 80}), "[::1]:80");
  EXPECT_EQ(endpoint_text({ipv4(10, 0, 0, 1), 80}), "10.0.0.1:80");
}

TEST(Address, TakesAMappedAddressForItsIpv4One) {
  const SocketAddress raw = to_sockaddr({*parse_ip("::ffff:10.0.0.1"), 1});
  EXPECT_EQ(raw.storage.ss_family, AF_INET);
}

TEST(Address, SurvivesASocketAddress) {
  for (const char* text : {"192.0.2.1", "2001:db8::1"}) {
    const Endpoint endpoint{*parse_ip(text), 8080};
    EXPECT_EQ(from_sockaddr(to_sockaddr(endpoint).storage), endpoint);
  }
}

TEST(Address, KnowsWhatMustNotBeReachedUnderAName) {
  for (const char* text : {"127.0.0.1",
                           "127.255.255.255",
                           "0.0.0.0",
                           "0.1.2.3",
                           "169.254.169.254",
                           "198.18.0.1",
                           "198.19.255.255",
                           "224.0.0.1",
                           "239.1.1.1",
                           "255.255.255.255",
                           "100.100.100.200",
                           "168.63.129.16",
                           "192.0.0.192",
                           "::",
                           "::1",
                           "fe80::1",
                           "febf::1",
                           "fec0::1",
                           "fd00:ec2::254",
                           "fd00:42::42",
                           "fd20:ce::254",
                           "fd00:5b::1",
                           "ff02::1",
                           "::ffff:127.0.0.1",
                           "::127.0.0.1",
                           "64:ff9b::127.0.0.1",
                           "64:ff9b::169.254.169.254",
                           "64:ff9b:1::7f00:1",
                           "2002:7f00:1::"}) {
    EXPECT_TRUE(is_special(*parse_ip(text))) << text;
  }
  for (const char* text : {"8.8.8.8", "10.0.0.1", "192.168.1.1", "172.16.0.1", "198.20.0.1",
                           "2001:db8::1", "fd12::1", "64:ff9b::8.8.8.8", "2002:808:808::1"}) {
    EXPECT_FALSE(is_special(*parse_ip(text))) << text;
  }
}

}  // namespace
}  // namespace sbx
