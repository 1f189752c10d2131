// SPDX-License-Identifier: Apache-2.0
#include "batch/id_set.h"

#include <gtest/gtest.h>

#include <string>

namespace sbx::batch {
namespace {

TEST(IdSet, KeepsTheMarksOfEveryIdWhileItGrows) {
  IdSet ids;
  constexpr int kIds = 20'000;
  for (int i = 0; i < kIds; ++i) {
    EXPECT_EQ(ids.mark("id" + std::to_string(i), i % 2 == 0 ? kRecorded : kRecorded | kFailed), 0U);
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kIds));
  for (int i = 0; i < kIds; ++i) {
    const std::string id = "id" + std::to_string(i);
    EXPECT_EQ(ids.mark(id, kSeen), i % 2 == 0 ? kRecorded : kRecorded | kFailed);
    EXPECT_EQ(ids.marks(id) & kSeen, kSeen);
  }
  EXPECT_EQ(ids.marks("another"), 0U);
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kIds));
}

TEST(IdSet, IsEmptyAtFirst) { EXPECT_EQ(IdSet().marks(""), 0U); }

}  // namespace
}  // namespace sbx::batch
