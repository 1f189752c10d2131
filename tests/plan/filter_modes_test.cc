// SPDX-License-Identifier: Apache-2.0
// The filter's promises about bits of file modes, by name and number, apart from the tables.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/filter.h"
#include "plan/filter_harness.h"

namespace sbx {
namespace {

struct ModeCall {
  int number;
  std::size_t mode;
  int flags;  // argument, or -1
};

// fchmodat2's number is that of every architecture.
std::vector<ModeCall> mode_calls() {
  std::vector<ModeCall> calls = {{number_of("fchmod"), 1, -1},
                                 {number_of("fchmodat"), 2, -1},
                                 {452, 2, -1},
                                 {number_of("mknodat"), 2, -1},
                                 {number_of("openat"), 3, 2}};
#if defined(__x86_64__)
  calls.push_back({number_of("chmod"), 1, -1});
  calls.push_back({number_of("creat"), 1, -1});
  calls.push_back({number_of("mknod"), 1, -1});
  calls.push_back({number_of("open"), 2, 1});
#endif
  return calls;
}

TEST(Filter, RefusesSetUidAndSetGidBitsInEveryModeAndLeavesTheSticky) {
  for (FilterSpec spec : every_spec()) {
    for (const bool traced : {false, true}) {
      spec.report_paths = traced;
      const CompiledFilter filter = compiled(spec);
      for (const ModeCall& call : mode_calls()) {
        const auto with = [&](std::uint64_t mode, std::uint64_t flags) {
          Args args = {1, 2, 3, 4};
          args[call.mode] = mode;
          if (call.flags >= 0) args[static_cast<std::size_t>(call.flags)] = flags;
          const bool sets_id =
              fault_of(call.number, std::span(args).first<6>(), {}) == CallFault::kSetIdBit;
          const FilterAction answer = fate(filter, call.number, args);
          // Both are handed over where paths are traced, and told apart by the registers. fchmod
          // names none.
          if (traced && spec.notify_refused && call.number != number_of("fchmod")) {
            EXPECT_EQ(answer, FilterAction::kRefuse) << call.number << " " << describe(spec);
          } else {
            EXPECT_EQ(answer, sets_id ? FilterAction::kRefuse : FilterAction::kAllow)
                << call.number << " " << describe(spec);
          }
          return sets_id;
        };
        const std::uint64_t creates = O_CREAT | O_WRONLY;
        for (const std::uint64_t mode : {04755U, 02755U, 06000U, 0104644U, 042775U}) {
          EXPECT_TRUE(with(mode, creates)) << call.number;
          EXPECT_TRUE(with(mode | kGarbage, creates | kGarbage)) << call.number;
          EXPECT_TRUE(with(mode, O_TMPFILE | O_RDWR)) << call.number;
          EXPECT_EQ(with(mode, O_RDWR | O_DIRECTORY | kGarbage), call.flags < 0) << call.number;
        }
        for (const std::uint64_t mode : {0U, 0777U, 01777U, 0100644U, 041777U}) {
          EXPECT_FALSE(with(mode | kGarbage, creates)) << call.number;
        }
      }
    }
  }
}

TEST(Filter, TheOperatorMayAllowACallToSetThoseBits) {
  FilterSpec spec;
  spec.allow = {"fchmodat", "openat2"};
  const CompiledFilter filter = compiled(spec);
  EXPECT_EQ(fate(filter, "fchmodat", {1, 2, 04755}), FilterAction::kAllow);
  EXPECT_EQ(fate(filter, "fchmod", {1, 04755}), FilterAction::kRefuse);
  EXPECT_EQ(fate(filter, "openat2"), FilterAction::kAllow);
}

}  // namespace
}  // namespace sbx
