// SPDX-License-Identifier: Apache-2.0
#include "gateway/name_map.h"

#include <gtest/gtest.h>

#include <set>

namespace sbx {
namespace {

TEST(NameMap, AnswersTheSameAddressAndKnowsItsName) {
  NameMap names;
  const auto number = names.number_of("a.test").value();
  EXPECT_EQ(names.number_of("a.test"), number);
  EXPECT_EQ(names.name_of(NameMap::v4_of(number)), "a.test");
  EXPECT_EQ(names.name_of(NameMap::v6_of(number)), "a.test");
  EXPECT_FALSE(names.name_of(NameMap::v4_of(number + 1)));
  EXPECT_FALSE(names.name_of(ipv4(8, 8, 8, 8)));
  IpAddress other = NameMap::v6_of(number);
  other.bytes[9] = 1;  // in the range, and never given out
  EXPECT_FALSE(names.name_of(other));
}

TEST(NameMap, StaysInItsRange) {
  EXPECT_TRUE(NameMap::is_mapped_range(NameMap::v4_of(131070)));
  EXPECT_EQ(ip_text(NameMap::v4_of(131070)), "198.19.255.254");
  EXPECT_EQ(ip_text(NameMap::v4_of(1)), "198.18.0.1");
  EXPECT_EQ(ip_text(NameMap::v6_of(258)), "fd00:5b::102");
}

TEST(NameMap, ForgetsTheNameUsedLongestAgo) {
  NameMap names(2);
  const auto a = names.number_of("a").value();
  const auto b = names.number_of("b").value();
  names.number_of("a");
  const auto c = names.number_of("c").value();
  EXPECT_EQ(names.size(), 2U);
  EXPECT_EQ(names.name_of(NameMap::v4_of(a)), "a");
  EXPECT_FALSE(names.name_of(NameMap::v4_of(b)));
  EXPECT_NE(c, b) << "an address is given out again as late as possible";
}

TEST(NameMap, NeverForgetsANameThatHoldsConnections) {
  NameMap names(2, 3);
  const auto a = names.number_of("a").value();
  names.hold("a");
  for (int i = 0; i < 20; ++i) {
    const auto number = names.number_of("n" + std::to_string(i));
    ASSERT_TRUE(number);
    EXPECT_NE(*number, a);
  }
  EXPECT_EQ(names.name_of(NameMap::v4_of(a)), "a");
  names.hold("n19");
  EXPECT_FALSE(names.number_of("one more"));
  names.release("n19");
  EXPECT_TRUE(names.number_of("one more"));
}

}  // namespace
}  // namespace sbx
