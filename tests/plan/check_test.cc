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

  Op take(OpKind kind) {
    const auto found = plan_.ops.begin() + first_of(plan_, kind);
    const Op op = *found;
    plan_.ops.erase(found);
    return op;
  }
  void put_before(OpKind kind, const Op& op) {
    plan_.ops.insert(plan_.ops.begin() + first_of(plan_, kind), op);
  }
  void put_behind(OpKind kind, const Op& op) {
    plan_.ops.insert(plan_.ops.begin() + last_of(plan_, kind) + 1, op);
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
  put_behind(OpKind::kExecute, Op{OpKind::kNewSession});
  expect_refused("nothing follows the exec");
}

TEST_F(CheckPlan, RefusesAStepBetweenTheFilterAndTheExec) {
  const Op limit = take(OpKind::kSetLimit);
  put_before(OpKind::kExecute, limit);
  expect_refused("the filter comes last");
}

TEST_F(CheckPlan, RefusesAPlanWithoutAnExec) {
  take(OpKind::kExecute);
  expect_refused("does not end in an exec");
}

TEST_F(CheckPlan, RefusesEveryKindOfMountBehindThePivot) {
  const LaunchPlan right = plan_;
  for (const OpKind kind :
       {OpKind::kMountTmpfs, OpKind::kEnterRoot, OpKind::kMakeDir, OpKind::kMakeFile,
        OpKind::kMakeLink, OpKind::kBindSystem, OpKind::kBindMask, OpKind::kBind,
        OpKind::kBindInside, OpKind::kMoveInside, OpKind::kMountProc, OpKind::kMountDevpts,
        OpKind::kMountMqueue, OpKind::kMountOverlay, OpKind::kSetAttributes}) {
    plan_ = right;
    put_behind(OpKind::kPivot, Op{kind});
    expect_refused("mounts come before the pivot");
  }
}

TEST_F(CheckPlan, RefusesAMountInTheCommandsProcess) {
  put_behind(OpKind::kForkCommand, Op{OpKind::kMakeDir});
  expect_refused("mounts come before the pivot");
}

TEST_F(CheckPlan, RefusesACommandThatIsForkedBeforeThePivot) {
  const Op pivot = take(OpKind::kPivot);
  put_behind(OpKind::kForkCommand, pivot);
  expect_refused("forked after the pivot");
}

TEST_F(CheckPlan, RefusesTwoCommands) {
  put_behind(OpKind::kForkCommand, Op{OpKind::kForkCommand});
  expect_refused("there is one command");
}

TEST_F(CheckPlan, RefusesLandlockBeforeNoNewPrivs) {
  const Op restrict = take(OpKind::kLandlockRestrict);
  put_before(OpKind::kNoNewPrivs, restrict);
  expect_refused("no_new_privs comes first");
}

TEST_F(CheckPlan, RefusesToDropCapabilitiesInPid1) {
  const Op drop = take(OpKind::kDropCapabilities);
  put_before(OpKind::kForkCommand, drop);
  expect_refused("capabilities go in the command's process");
}

TEST_F(CheckPlan, RefusesAFilterWithoutNoNewPrivs) {
  plan_.wanted.remove(Layer::kLandlock);
  take(OpKind::kLandlockRestrict);
  take(OpKind::kNoNewPrivs);
  expect_refused("no_new_privs, capabilities and descriptors come first");
}

TEST_F(CheckPlan, RefusesAFilterBeforeTheCapabilitiesAreGone) {
  take(OpKind::kDropCapabilities);
  expect_refused("no_new_privs, capabilities and descriptors come first");
}

TEST_F(CheckPlan, RefusesAFilterBeforeDescriptorsAreClosed) {
  take(OpKind::kCloseDescriptors);
  expect_refused("no_new_privs, capabilities and descriptors come first");
}

TEST_F(CheckPlan, RefusesAnExecWithOpenDescriptors) {
  plan_.wanted.remove(Layer::kSeccomp);
  take(OpKind::kSeccomp);
  take(OpKind::kCloseDescriptors);
  expect_refused("descriptors are closed before exec");
}

TEST_F(CheckPlan, RefusesAWantedFilterThatIsNotLoaded) {
  take(OpKind::kSeccomp);
  expect_refused("a wanted layer has no step");
}

TEST_F(CheckPlan, RefusesAWantedLandlockThatIsNotApplied) {
  take(OpKind::kLandlockRestrict);
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
