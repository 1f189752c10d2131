// SPDX-License-Identifier: Apache-2.0
#include "batch/summary.h"

#include <gtest/gtest.h>

namespace sbx::batch {
namespace {

TEST(Summary, CountsEachEndingAndFindsThePercentiles) {
  Summary summary;
  EXPECT_TRUE(summary.all_well());
  for (int i = 1; i <= 100; ++i) {
    summary.add(Ending::kDone);
    summary.add_time(i);
  }
  EXPECT_TRUE(summary.all_well());
  summary.add(Ending::kFailed);
  summary.add(Ending::kRefused);
  summary.add(Ending::kError);
  EXPECT_FALSE(summary.all_well());
  const std::string line = summary.line(std::nullopt, false);
  EXPECT_TRUE(line.starts_with("103 tasks: 100 done, 1 failed, 1 refused, 1 errors, ")) << line;
  const double median = std::stod(line.substr(line.find("median ") + 7));
  EXPECT_NEAR(median, 50, 1.5);
  EXPECT_NEAR(std::stod(line.substr(line.find("p95 ") + 4)), 95, 2.5);
}

TEST(Summary, AnEarlierFailureIsOneStill) {
  Summary summary;
  summary.add_recorded(false);
  EXPECT_TRUE(summary.all_well());
  summary.add_recorded(true);
  EXPECT_FALSE(summary.all_well());
  EXPECT_EQ(summary.settled(), 2U);
  EXPECT_NE(summary.line(5, true).find("; 2 recorded before; 5 left"), std::string::npos);
}

}  // namespace
}  // namespace sbx::batch
