// SPDX-License-Identifier: Apache-2.0
// The planner: orders and choices that no run on one machine can show.
#include "bwrap/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sys/kernel.h"

namespace sbx::bwrap {
namespace {

class BwrapPlan : public testing::Test {
 protected:
  BwrapPlan() {
    caller_.uid = 1000;
    caller_.gid = 1000;
    caller_.cwd = "/work";
    options_.command = {"true"};
  }

  LaunchPlan plan() {
    EXPECT_TRUE(check_options(options_, caller_).ok());
    LaunchPlan made = make_plan(options_, caller_, programs_);
    EXPECT_TRUE(check_plan(made).ok());
    return made;
  }

  Action& add(ActionKind kind, const char* dest) {
    Action& action = options_.actions.emplace_back();
    action.kind = kind;
    action.dest = dest;
    return action;
  }

  static std::size_t count(const LaunchPlan& plan, OpKind kind) {
    return static_cast<std::size_t>(std::count_if(
        plan.ops.begin(), plan.ops.end(), [kind](const Op& op) { return op.kind == kind; }));
  }
  static std::size_t place(const LaunchPlan& plan, OpKind kind) {
    const auto found = std::find_if(plan.ops.begin(), plan.ops.end(),
                                    [kind](const Op& op) { return op.kind == kind; });
    return static_cast<std::size_t>(found - plan.ops.begin());
  }

  Options options_;
  Caller caller_;
  std::vector<FilterProgram> programs_;
};

TEST_F(BwrapPlan, AddsNoFilterNoLandlockAndNoLimitOfItsOwn) {
  const LaunchPlan made = plan();
  for (const OpKind kind : {OpKind::kSeccomp, OpKind::kSeccompProgram, OpKind::kLandlockRestrict,
                            OpKind::kSetLimit, OpKind::kCloseDescriptors}) {
    EXPECT_EQ(count(made, kind), 0U) << op_name(kind);
  }
}

TEST_F(BwrapPlan, TheCommandIsTheFirstProcessUnlessSomethingMustStayBesideIt) {
  EXPECT_EQ(count(plan(), OpKind::kForkCommand), 0U);
  options_.unshare_pid = true;
  EXPECT_EQ(count(plan(), OpKind::kForkCommand), 1U);
  options_.as_pid_1 = true;
  EXPECT_EQ(count(plan(), OpKind::kForkCommand), 0U);
}

TEST_F(BwrapPlan, DevMapsRootFirstAndTheCallerInASecondUserNamespace) {
  add(ActionKind::kDev, "/dev");
  const LaunchPlan made = plan();
  EXPECT_NE(dump_plan(made).find("write_file /proc/self/uid_map \"0 1000 1"), std::string::npos);
  EXPECT_NE(dump_plan(made).find("write_proc self/uid_map \"1000 0 1"), std::string::npos);
  EXPECT_GT(place(made, OpKind::kUnshareUser), place(made, OpKind::kPivot));
}

TEST_F(BwrapPlan, FiltersComeLastAndOneAfterAnother) {
  programs_ = {FilterProgram(3), FilterProgram(2)};
  options_.die_with_parent = true;
  const LaunchPlan made = plan();
  ASSERT_EQ(count(made, OpKind::kSeccompProgram), 2U);
  const std::size_t first = place(made, OpKind::kSeccompProgram);
  EXPECT_EQ(first, made.ops.size() - 3);
  EXPECT_EQ(made.ops[first + 1].dev, 3U);
  EXPECT_EQ(made.ops[first + 1].ino, 2U);
}

TEST_F(BwrapPlan, ABindIsReadOnlyOrWithDevicesAsItsOptionSays) {
  add(ActionKind::kRoBind, "/ro").source = "/a";
  add(ActionKind::kDevBind, "/dev").source = "/b";
  const LaunchPlan made = plan();
  std::vector<std::uint64_t> flags;
  for (const Op& op : made.ops) {
    if (op.kind == OpKind::kBindTo) flags.push_back(op.flags);
  }
  ASSERT_EQ(flags.size(), 2U);
  EXPECT_NE(flags[0] & sys::kMountAttrReadOnly, 0U);
  EXPECT_NE(flags[0] & sys::kMountAttrNodev, 0U);
  EXPECT_EQ(flags[1], sys::kMountAttrNosuid);
}

TEST_F(BwrapPlan, StepsGrowWithTheBindsAndNoFaster) {
  const std::size_t none = plan().ops.size();
  add(ActionKind::kBind, "/one").source = "/a";
  const std::size_t each = plan().ops.size() - none;
  for (int i = 1; i < 500; ++i) add(ActionKind::kBind, "/more").source = "/a";
  EXPECT_EQ(plan().ops.size(), none + 500 * each);
}

TEST_F(BwrapPlan, AFullMountTableIsNoFullDisk) {
  add(ActionKind::kTmpfs, "/t").perms = 0755;
  const LaunchPlan made = plan();
  const Op& op = made.ops[place(made, OpKind::kMountTo)];
  EXPECT_EQ(failure_words(made, op, ENOSPC, ""),
            "Can't mount tmpfs on /newroot/t: Limit exceeded (ENOSPC). (Hint: Check that "
            "/proc/sys/fs/mount-max is sufficient, typically 100000.)");
}

}  // namespace
}  // namespace sbx::bwrap
