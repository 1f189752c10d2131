// SPDX-License-Identifier: Apache-2.0
// The order rules of a plan, checked for every plan that is made. Pure.
#include <sched.h>

#include "plan/plan.h"

namespace sbx {
namespace {

bool is_mount(OpKind kind) {
  switch (kind) {
    case OpKind::kPrivateMounts:
    case OpKind::kMountTmpfs:
    case OpKind::kBindSystem:
    case OpKind::kBindMask:
    case OpKind::kBind:
    case OpKind::kBindInside:
    case OpKind::kMoveInside:
    case OpKind::kMountProc:
    case OpKind::kMountDevpts:
    case OpKind::kMountMqueue:
    case OpKind::kMountOverlay:
    case OpKind::kSetAttributes:
    case OpKind::kEnterRoot:
    case OpKind::kMakeDir:
    case OpKind::kMakeFile:
    case OpKind::kMakeLink:
    case OpKind::kSlaveMounts:
    case OpKind::kPivotUnder:
    case OpKind::kDetach:
    case OpKind::kMakeParents:
    case OpKind::kNeedDir:
    case OpKind::kNeedFile:
    case OpKind::kLinkInside:
    case OpKind::kChmodInside:
    case OpKind::kOpenInside:
    case OpKind::kOpenOutside:
    case OpKind::kBindTo:
    case OpKind::kMountTo:
    case OpKind::kSetInside:
    case OpKind::kCoverProc:
    case OpKind::kSizeTmpfs:
    case OpKind::kHalve:
      return true;
    default:
      return false;
  }
}

Error broken(const LaunchPlan& plan, const Op& op, const char* rule) {
  return Error{ErrorCode::kInternal,
               "the plan breaks its own order at '" + describe_op(plan, op) + "': " + rule, "plan",
               "please report this"};
}

}  // namespace

std::uint64_t namespace_flag(Layer layer) {
  switch (layer) {
    case Layer::kUser:
      return CLONE_NEWUSER;
    case Layer::kMount:
      return CLONE_NEWNS;
    case Layer::kPid:
      return CLONE_NEWPID;
    case Layer::kNet:
      return CLONE_NEWNET;
    case Layer::kIpc:
      return CLONE_NEWIPC;
    case Layer::kUts:
      return CLONE_NEWUTS;
    case Layer::kCgroup:
      return CLONE_NEWCGROUP;
    default:
      return 0;
  }
}

Status check_plan(const LaunchPlan& plan) {
  constexpr LayerSet kNone;
  LayerSet confirmed = kNone;
  // These two are in force once the clone has succeeded; there is no further step.
  for (const Layer layer : {Layer::kPid, Layer::kIpc, Layer::kCgroup}) {
    if (plan.wanted.has(layer)) confirmed.add(layer);
  }
  bool pivoted = false;
  bool in_command = false;
  bool no_new_privs = false;
  bool restricted = false;
  bool dropped = false;
  bool closed = false;
  bool filtered = false;
  bool awaited = false;
  bool executed = false;
  for (const Op& op : plan.ops) {
    if (executed) return broken(plan, op, "nothing follows the exec");
    const bool waits =
        plan.awaits_command && (op.kind == OpKind::kAwaitCommand ||
                                op.kind == OpKind::kCheckGuards || op.kind == OpKind::kChangeDir);
    if (filtered && op.kind != OpKind::kExecute && !waits) {
      return broken(plan, op, "the filter comes last");
    }
    if (is_mount(op.kind) && (pivoted || in_command)) {
      return broken(plan, op, "mounts come before the pivot");
    }
    switch (op.kind) {
      case OpKind::kPivot:
        pivoted = true;
        break;
      case OpKind::kForkCommand:
        if (in_command) return broken(plan, op, "there is one command");
        if (plan.wanted.has(Layer::kMount) && !pivoted) {
          return broken(plan, op, "the command is forked after the pivot");
        }
        in_command = true;
        break;
      case OpKind::kNoNewPrivs:
        no_new_privs = true;
        break;
      case OpKind::kLandlockRestrict:
        if (!no_new_privs) return broken(plan, op, "no_new_privs comes first");
        restricted = true;
        break;
      case OpKind::kDropCapabilities:
        if (!in_command) return broken(plan, op, "capabilities go in the command's process");
        dropped = true;
        break;
      case OpKind::kCloseDescriptors:
        closed = true;
        break;
      case OpKind::kSeccomp:
        if (!no_new_privs || !closed || !dropped) {
          return broken(plan, op, "no_new_privs, capabilities and descriptors come first");
        }
        filtered = true;
        break;
      case OpKind::kAwaitCommand:
        if (!closed) return broken(plan, op, "descriptors are closed before the wait");
        awaited = true;
        break;
      case OpKind::kExecute:
        // The first process itself becomes a command that the caller's descriptors pass to.
        if (!plan.passes_through && (!in_command || !closed)) {
          return broken(plan, op, "descriptors are closed before exec");
        }
        executed = true;
        break;
      default:
        break;
    }
    if (op.confirms != kNoLayer) confirmed.add(static_cast<Layer>(op.confirms));
  }
  if (plan.awaits_command != awaited) {
    return Error{ErrorCode::kInternal, "the plan does not await its command", "plan", ""};
  }
  if (!executed) {
    return Error{ErrorCode::kInternal, "the plan does not end in an exec", "plan", ""};
  }
  if (plan.wanted.has(Layer::kLandlock) != restricted ||
      plan.wanted.has(Layer::kSeccomp) != filtered) {
    return Error{ErrorCode::kInternal, "a wanted layer has no step", "plan", ""};
  }
  for (int i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    const std::uint64_t flag = namespace_flag(layer);
    if (plan.wanted.has(layer) && (plan.clone_flags & flag) != flag) {
      return Error{ErrorCode::kInternal,
                   std::string("the clone does not make the namespace ") + layer_name(layer),
                   "plan", ""};
    }
    if (plan.wanted.has(layer) && !confirmed.has(layer)) {
      return Error{ErrorCode::kInternal,
                   std::string("no step confirms the layer ") + layer_name(layer), "plan", ""};
    }
  }
  return {};
}

}  // namespace sbx
