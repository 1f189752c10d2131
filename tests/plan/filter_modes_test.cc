// SPDX-License-Identifier: Apache-2.0
// The filter's promises about bits of file modes, by name and number, apart from the tables.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// Where nothing may be written and no mount view sees to it: what Landlock does not hold. Numbers
// from 424 on are those of every architecture.
TEST(Filter, ReadOnlyRefusesWhatChangesAFileThatIsNotOpenForWriting) {
  std::vector<int> calls = {452, 463, 466, 469};
  for (const char* name : {
         "fchmod", "fchmodat", "fchown", "fchownat", "utimensat", "truncate", "setxattr",
             "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
#if defined(__x86_64__)
             "chmod", "chown", "lchown", "utime", "utimes", "futimesat"
#endif
       }) {
    calls.push_back(number_of(name));
  }
  for (FilterSpec spec : every_spec()) {
    spec.report_paths = true;
    spec.own_ids = {1000, 1000};
    const CompiledFilter usual = compiled(spec);
    spec.read_only = true;
    const CompiledFilter filter = compiled(spec);
    for (const int call : calls) {
      EXPECT_EQ(fate(filter, call, {}), FilterAction::kRefuse) << call << " " << describe(spec);
      EXPECT_EQ(std::count(filter.reported_calls.begin(), filter.reported_calls.end(), call), 0);
    }
    const int open = number_of("openat");
    for (const std::uint64_t access : {O_RDONLY, O_ACCMODE}) {
      EXPECT_EQ(ret_of(filter, open, {0, 0, access | O_TRUNC}), SECCOMP_RET_ERRNO | EPERM);
      EXPECT_EQ(ret_of(filter, open, {0, 0, access}), ret_of(usual, open, {0, 0, access}));
    }
    // > /dev/null
    const Args null = {0, 0, O_WRONLY | O_TRUNC | O_CREAT};
    EXPECT_EQ(ret_of(filter, open, null), ret_of(usual, open, null));
    const int ioctl = number_of("ioctl");
    // FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, BTRFS_IOC_SUBVOL_CREATE,
    // FAT_IOCTL_SET_ATTRIBUTES
    for (const std::uint64_t request :
         {0x40086602, 0x401c5820, 0x40087602, 0x5000940e, 0x40047211}) {
      EXPECT_EQ(fate(usual, ioctl, {0, request}), FilterAction::kAllow);
      EXPECT_EQ(fate(filter, ioctl, {0, request | kGarbage}), FilterAction::kRefuse) << request;
    }
    // TCGETS, TIOCSPTLCK, FIONBIO, FS_IOC_GETFLAGS
    for (const std::uint64_t request : {0x5401, 0x40045431, 0x5421}) {
      EXPECT_EQ(fate(filter, ioctl, {0, request}), FilterAction::kAllow) << request;
    }
    EXPECT_EQ(fate(filter, ioctl, {0, 0x80086601}), FilterAction::kAllow);
    for (const char* name : {"mkdirat", "unlinkat", "mknodat"}) {
      EXPECT_EQ(fate(filter, number_of(name), {}), fate(usual, number_of(name), {})) << name;
    }
  }
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
