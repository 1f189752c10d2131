// SPDX-License-Identifier: Apache-2.0
// check_plan: every rule, broken by a plan that was right before.
#include <gtest/gtest.h>

#include <algorithm>

#include "plan/sample_plan.h"

namespace sbx::testing {
namespace {

class CheckPlan : public ::testing::Test {
 protected:
  CheckPlan() : plan_(shipped_sample("default").plan().value()) {}

  template <Operation T>
  Op take() {
    const auto found = plan_.ops.begin() + first_of<T>(plan_);
    const Op op = *found;
    plan_.ops.erase(found);
    return op;
  }
  template <Operation T>
  void put_before(const Op& op) {
    plan_.ops.insert(plan_.ops.begin() + first_of<T>(plan_), op);
  }
  template <Operation T>
  void put_behind(const Op& op) {
    plan_.ops.insert(plan_.ops.begin() + last_of<T>(plan_) + 1, op);
  }
  // Behind the pivot every one of them is refused.
  template <Operation... T>
  void expect_refused_behind_the_pivot() {
    const LaunchPlan right = plan_;
    const auto expect_late = [&](const Op& op) {
      plan_ = right;
      put_behind<op::Pivot>(op);
      expect_refused("mounts come before the pivot");
    };
    (expect_late(Op{T{}}), ...);
  }

  void expect_refused(const std::string& words) const {
    const Status status = check_plan(plan_);
    ASSERT_FALSE(status.ok()) << words;
    EXPECT_EQ(status.error().code, ErrorCode::kInternal);
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
  }

  LaunchPlan plan_;
};

TEST_F(CheckPlan, AcceptsThePlanThatTheMutationsStartFrom) { EXPECT_TRUE(check_plan(plan_).ok()); }

TEST_F(CheckPlan, RefusesAStepBehindTheExec) {
  put_behind<op::Execute>(Op{op::NewSession{}});
  expect_refused("nothing follows the exec");
}

TEST_F(CheckPlan, RefusesAStepBetweenTheFilterAndTheExec) {
  const Op limit = take<op::SetLimit>();
  put_before<op::Execute>(limit);
  expect_refused("the filter comes last");
}

TEST_F(CheckPlan, RefusesAPlanWithoutAnExec) {
  take<op::Execute>();
  expect_refused("does not end in an exec");
}

TEST_F(CheckPlan, RefusesEveryKindOfMountBehindThePivot) {
  expect_refused_behind_the_pivot<op::PrivateMounts, op::Mount, op::EnterRoot, op::MakeDir,
                                  op::MakeFile, op::MakeLink, op::BindSystem, op::AttachMapped,
                                  op::BindMask, op::Bind, op::BindInside, op::MoveInside,
                                  op::SetAttributes, op::SizeTmpfs, op::Halve>();
}

TEST_F(CheckPlan, RefusesACommandOutsideOfItsNetwork) {
  const Op join = take<op::JoinNetwork>();
  expect_refused("the command is forked in its network namespace");
  put_before<op::ForkCommand>(join);
  EXPECT_TRUE(check_plan(plan_).ok());
  put_behind<op::ForkCommand>(join);
  expect_refused("the network is joined before the command is forked");
}

TEST_F(CheckPlan, RefusesAMountInTheCommandsProcess) {
  put_behind<op::ForkCommand>(Op{op::MakeDir{}});
  expect_refused("mounts come before the pivot");
}

TEST_F(CheckPlan, RefusesACommandThatIsForkedBeforeThePivot) {
  const Op pivot = take<op::Pivot>();
  put_behind<op::ForkCommand>(pivot);
  expect_refused("forked after the pivot");
}

TEST_F(CheckPlan, RefusesTwoCommands) {
  put_behind<op::ForkCommand>(Op{op::ForkCommand{}});
  expect_refused("there is one command");
}

TEST_F(CheckPlan, RefusesLandlockBeforeNoNewPrivs) {
  const Op restrict = take<op::LandlockRestrict>();
  put_before<op::NoNewPrivs>(restrict);
  expect_refused("no_new_privs comes first");
}

TEST_F(CheckPlan, RefusesToDropCapabilitiesInPid1) {
  const Op drop = take<op::DropCapabilities>();
  put_before<op::ForkCommand>(drop);
  expect_refused("capabilities go in the command's process");
}

TEST_F(CheckPlan, RefusesAFilterWithoutNoNewPrivs) {
  plan_.wanted.remove(Layer::kLandlock);
  take<op::LandlockRestrict>();
  take<op::NoNewPrivs>();
  expect_refused("no_new_privs, capabilities and descriptors come first");
}

TEST_F(CheckPlan, RefusesAFilterBeforeTheCapabilitiesAreGone) {
  take<op::DropCapabilities>();
  expect_refused("no_new_privs, capabilities and descriptors come first");
}

TEST_F(CheckPlan, RefusesAFilterBeforeDescriptorsAreClosed) {
  take<op::CloseDescriptors>();
  expect_refused("no_new_privs, capabilities and descriptors come first");
}

TEST_F(CheckPlan, RefusesAnExecWithOpenDescriptors) {
  plan_.wanted.remove(Layer::kSeccomp);
  take<op::Seccomp>();
  take<op::CloseDescriptors>();
  expect_refused("descriptors are closed before exec");
}

TEST_F(CheckPlan, RefusesAWantedFilterThatIsNotLoaded) {
  take<op::Seccomp>();
  expect_refused("a wanted layer has no step");
}

TEST_F(CheckPlan, RefusesAWantedLandlockThatIsNotApplied) {
  take<op::LandlockRestrict>();
  expect_refused("a wanted layer has no step");
}

TEST_F(CheckPlan, RefusesALayerThatNothingConfirms) {
  const LaunchPlan right = plan_;
  for (const Layer layer : {Layer::kUser, Layer::kMount, Layer::kNet, Layer::kUts, Layer::kSeccomp,
                            Layer::kLandlock, Layer::kNoNewPrivs, Layer::kCapabilities}) {
    plan_ = right;
    for (Op& op : plan_.ops) {
      if (op.confirms == static_cast<std::uint8_t>(layer)) op.confirms = kNoLayer;
    }
    expect_refused(std::string("no step confirms the layer ") + layer_name(layer));
  }
}

TEST_F(CheckPlan, RefusesANamespaceThatTheCloneDoesNotMake) {
  const LaunchPlan right = plan_;
  for (const Layer layer : {Layer::kUser, Layer::kMount, Layer::kPid, Layer::kNet, Layer::kIpc,
                            Layer::kUts, Layer::kCgroup}) {
    plan_ = right;
    plan_.clone_flags &= ~namespace_flag(layer);
    expect_refused(std::string("the clone does not make the namespace ") + layer_name(layer));
  }
}

}  // namespace
}  // namespace sbx::testing
