// SPDX-License-Identifier: Apache-2.0
#include "page/summary.h"

#include <gtest/gtest.h>

namespace sbx::page {
namespace {

std::uint64_t all_of(const Timeline& timeline) {
  std::uint64_t sum = 0;
  for (const auto& [number, counts] : timeline.columns()) {
    for (const std::uint64_t count : counts) sum += count;
  }
  return sum;
}

TEST(Timeline, KeepsEveryRunWhileItsColumnsWiden) {
  Timeline timeline;
  for (int i = 0; i < 100; ++i) timeline.add(std::int64_t{1000} * i, Kind::kGood);
  EXPECT_EQ(timeline.width_ms(), 5000);
  EXPECT_EQ(all_of(timeline), 100U);
  timeline.add(-62'167'219'200'000, Kind::kFailed);  // year 0
  timeline.add(253'402'300'799'999, Kind::kFailed);  // year 9999
  EXPECT_EQ(all_of(timeline), 102U);
  EXPECT_LE(timeline.columns().rbegin()->first - timeline.columns().begin()->first,
            Timeline::kMostColumns);
}

TEST(Totals, CountsWhatHasNoNameOfItsOwnTogether) {
  Totals totals;
  for (int i = 0; i < 20'000; ++i) ++totals.of("name " + std::to_string(i)).count;
  totals.of("name 7").count += 5;
  const auto rows = totals.largest_first();
  EXPECT_EQ(rows.size(), 10'001U);
  EXPECT_EQ(rows.front().first, "name 7");
  EXPECT_EQ(rows.back().first, "(others)");
  EXPECT_EQ(rows.back().second.count, 10'000U);
}

Record run(const char* status, double duration_ms) {
  Record record;
  record.status = status;
  record.duration_ms = duration_ms;
  record.exit_code = 0;
  return record;
}

TEST(Summary, KeepsTheSlowestCommands) {
  Summary summary;
  for (int i = 0; i < 100; ++i) summary.add(run("exited", i % 50), static_cast<unsigned>(i) + 1);
  ASSERT_EQ(summary.slowest.size(), Summary::kMostSlow);
  EXPECT_EQ(summary.slowest.front().duration_ms, 49);
  EXPECT_EQ(summary.slowest.front().line, 50U);
  EXPECT_EQ(summary.slowest.back().duration_ms, 40);
}

TEST(Summary, NamesTheFirstBadLines) {
  Summary summary;
  for (unsigned i = 1; i <= 500; ++i) summary.add_bad(i, "why");
  EXPECT_EQ(summary.bad, 500U);
  EXPECT_EQ(summary.bad_lines.size(), Summary::kMostBadLines);
  EXPECT_EQ(summary.bad_lines.back().number, 100U);
}

TEST(Summary, TellsHowRunsEnded) {
  Summary summary;
  Record limit = run("limit", 1);
  limit.limit = "memory";
  for (const Record& record : {run("exited", 1), run("timed_out", 1), limit, run("denied", 0)}) {
    summary.add(record, 1);
  }
  EXPECT_EQ(summary.kinds, (KindCounts{1, 0, 2, 1}));
  EXPECT_EQ(summary.limits.largest_first().size(), 2U);
  EXPECT_EQ(how_it_ended(limit), "limit: memory");
}

}  // namespace
}  // namespace sbx::page
