// SPDX-License-Identifier: Apache-2.0
// The planner: orders and choices that no run on one machine can show.
#include "bwrap/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bwrap/operations.h"
#include "support/dump_plan.h"
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

  template <Operation T>
  static std::size_t count(const LaunchPlan& plan) {
    return static_cast<std::size_t>(
        std::count_if(plan.ops.begin(), plan.ops.end(), [](const Op& op) { return op.is<T>(); }));
  }
  template <Operation T>
  static std::size_t place(const LaunchPlan& plan) {
    const auto found =
        std::find_if(plan.ops.begin(), plan.ops.end(), [](const Op& op) { return op.is<T>(); });
    return static_cast<std::size_t>(found - plan.ops.begin());
  }

  Options options_;
  Caller caller_;
  std::vector<FilterProgram> programs_;
};

TEST_F(BwrapPlan, AddsNoFilterNoLandlockAndNoLimitOfItsOwn) {
  const LaunchPlan made = plan();
  EXPECT_EQ(count<op::Seccomp>(made), 0U);
  EXPECT_EQ(count<op::SeccompProgram>(made), 0U);
  EXPECT_EQ(count<op::LandlockRestrict>(made), 0U);
  EXPECT_EQ(count<op::SetLimit>(made), 0U);
  EXPECT_EQ(count<op::CloseDescriptors>(made), 0U);
}

TEST_F(BwrapPlan, TheCommandIsTheFirstProcessUnlessSomethingMustStayBesideIt) {
  EXPECT_EQ(count<op::ForkCommand>(plan()), 0U);
  options_.unshare_pid = true;
  EXPECT_EQ(count<op::ForkCommand>(plan()), 1U);
  options_.as_pid_1 = true;
  EXPECT_EQ(count<op::ForkCommand>(plan()), 0U);
}

TEST_F(BwrapPlan, EndsWithTheLauncherBeforeItWaitsAndInTheCommandsProcess) {
  options_.die_with_parent = options_.unshare_pid = true;
  options_.block_fd = 5;
  const LaunchPlan made = plan();
  EXPECT_EQ(count<op::DieWithLauncher>(made), 2U);
  EXPECT_GT(place<op::DieWithLauncher>(made), place<op::KeepCapabilities>(made));
  EXPECT_LT(place<op::DieWithLauncher>(made), place<op::AwaitFd>(made));
  EXPECT_TRUE(made.ops[place<op::ForkCommand>(made) + 1].is<op::DieWithLauncher>());
}

TEST_F(BwrapPlan, TheCommandCannotTracePid1UntilTheLauncherHasBeenTold) {
  EXPECT_EQ(count<op::NotDumpable>(plan()), 0U);
  options_.unshare_pid = true;
  const LaunchPlan made = plan();
  EXPECT_EQ(place<op::NotDumpable>(made) + 1, place<op::Execute>(made));
}

TEST_F(BwrapPlan, DevMapsRootFirstAndTheCallerInASecondUserNamespace) {
  add(ActionKind::kDev, "/dev");
  const LaunchPlan made = plan();
  EXPECT_NE(dump_plan(made).find("write_file /proc/self/uid_map \"0 1000 1"), std::string::npos);
  EXPECT_NE(dump_plan(made).find("write_proc self/uid_map \"1000 0 1"), std::string::npos);
  EXPECT_GT(place<op::UnshareUser>(made), place<op::Pivot>(made));
}

TEST_F(BwrapPlan, FiltersComeLastAndOneAfterAnother) {
  programs_ = {FilterProgram(3), FilterProgram(2)};
  options_.die_with_parent = true;
  const LaunchPlan made = plan();
  ASSERT_EQ(count<op::SeccompProgram>(made), 2U);
  const std::size_t first = place<op::SeccompProgram>(made);
  EXPECT_EQ(first, made.ops.size() - 3);
  const auto* const second = made.ops[first + 1].as<op::SeccompProgram>();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->first, 3U);
  EXPECT_EQ(second->count, 2U);
}

TEST_F(BwrapPlan, ABindIsReadOnlyOrWithDevicesAsItsOptionSays) {
  add(ActionKind::kRoBind, "/ro").source = "/a";
  add(ActionKind::kDevBind, "/dev").source = "/b";
  const LaunchPlan made = plan();
  std::vector<std::uint64_t> flags;
  for (const Op& op : made.ops) {
    if (const auto* const bind = op.as<op::BindTo>()) flags.push_back(bind->attributes);
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

TEST_F(BwrapPlan, TellsEveryStepThatCanFailInBubblewrapsWords) {
  options_.unshare_user = options_.unshare_pid = options_.unshare_net = true;
  options_.disable_userns = options_.die_with_parent = options_.new_session = true;
  options_.lock_files = {"/lock"};
  options_.chdir = "/work";
  options_.userns_fd = 4;
  options_.userns2_fd = 5;
  programs_ = {FilterProgram(3)};
  for (const auto kind :
       {ActionKind::kBind, ActionKind::kTmpfs, ActionKind::kProc, ActionKind::kDev,
        ActionKind::kMqueue, ActionKind::kDir, ActionKind::kFile, ActionKind::kBindData,
        ActionKind::kSymlink, ActionKind::kRemountRo, ActionKind::kHostname, ActionKind::kChmod,
        ActionKind::kTmpOverlay}) {
    add(kind, "/dest").lowers = {"/lower"};
  }
  const LaunchPlan made = make_plan(options_, caller_, programs_);
  for (const Op& step : made.ops) {
    if (step.is<op::NotDumpable>() || step.is<op::TryDir>()) continue;  // they do not fail
    const std::string words = failure_words(made, step, EPERM, "");
    EXPECT_NE(words.find(step.is<op::RefuseUser>() ? "not disabled" : "Operation not permitted"),
              std::string::npos);
    // For this one bubblewrap's words are ours.
    const bool is_described = words == step.describe(made) + ": Operation not permitted";
    EXPECT_EQ(is_described, step.is<op::Unlink>()) << words;
    EXPECT_EQ(words.find("{}"), std::string::npos) << words;
  }
}

TEST_F(BwrapPlan, AFullMountTableIsNoFullDisk) {
  add(ActionKind::kTmpfs, "/t").perms = 0755;
  const LaunchPlan made = plan();
  const Op& op = made.ops[place<op::MountTo>(made)];
  EXPECT_EQ(failure_words(made, op, ENOSPC, ""),
            "Can't mount tmpfs on /newroot/t: Limit exceeded (ENOSPC). (Hint: Check that "
            "/proc/sys/fs/mount-max is sufficient, typically 100000.)");
}

}  // namespace
}  // namespace sbx::bwrap
