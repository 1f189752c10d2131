// SPDX-License-Identifier: Apache-2.0
// Tests of session/time_share: a burst is free, then a task rests in proportion to what it takes.
#include "session/time_share.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

using std::chrono::milliseconds;
using Duration = TimeShare::Clock::duration;

const TimeShare::Clock::time_point kBegin{std::chrono::hours(1)};

TEST(TimeShare, LeavesABurstAlone) {
  TimeShare share;
  EXPECT_EQ(share.rest_after(kBegin, milliseconds(10)), Duration(0));
  EXPECT_EQ(share.rest_after(kBegin, milliseconds(10)), Duration(0));
  EXPECT_EQ(share.rest_after(kBegin, milliseconds(1)), milliseconds(TimeShare::kShare));
}

TEST(TimeShare, IsOnePartOfTheTimeThatPasses) {
  TimeShare share;
  TimeShare::Clock::time_point now = kBegin;
  Duration taken{0};
  while (now - kBegin < std::chrono::seconds(10)) {
    const Duration took = milliseconds(2);
    taken += took;
    now += took;
    now += share.rest_after(now, took);
  }
  EXPECT_NEAR(static_cast<double>(taken.count()),
              static_cast<double>((TimeShare::kBurst + (now - kBegin) / TimeShare::kShare).count()),
              static_cast<double>(Duration(milliseconds(50)).count()));
}

TEST(TimeShare, RestsForABoundedTimeAndForgets) {
  TimeShare share;
  EXPECT_EQ(share.rest_after(kBegin, std::chrono::hours(1)), TimeShare::kLongest);
  EXPECT_EQ(share.rest_after(kBegin + std::chrono::hours(9), milliseconds(1)), Duration(0));
}

}  // namespace
}  // namespace sbx
