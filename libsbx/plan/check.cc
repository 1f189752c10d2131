// SPDX-License-Identifier: Apache-2.0
// The order rules of a plan, checked for every plan that is made. Pure.
#include <sched.h>

#include "plan/plan.h"

namespace sbx {
namespace order {

const char* anywhere(Order& order) {
  return order.has(Stage::kFiltered) ? "the filter comes last" : nullptr;
}

const char* before_pivot(Order& order) {
  if (const char* const broken = anywhere(order)) return broken;
  const bool is_late = order.has(Stage::kPivoted) || order.has(Stage::kInCommand);
  return is_late ? "mounts come before the pivot" : nullptr;
}

namespace {

const char* reach(Order& order, Stage stage) {
  order.reach(stage);
  return nullptr;
}

// One that only reaches a stage.
const char* reach_before_filter(Order& order, Stage stage) {
  const char* const broken = anywhere(order);
  return broken != nullptr ? broken : reach(order, stage);
}

}  // namespace

const char* pivot(Order& order) { return reach_before_filter(order, Stage::kPivoted); }

const char* join_network(Order& order) {
  if (order.has(Stage::kInCommand)) return "the network is joined before the command is forked";
  return reach_before_filter(order, Stage::kNetworked);
}

const char* fork(Order& order) {
  if (order.has(Stage::kInCommand)) return "there is one command";
  if (order.plan().made_by_steps != 0 && !order.has(Stage::kNetworked)) {
    return "the command is forked in its network namespace";
  }
  if (order.plan().wanted.has(Layer::kMount) && !order.has(Stage::kPivoted)) {
    return "the command is forked after the pivot";
  }
  return reach_before_filter(order, Stage::kInCommand);
}

const char* no_new_privs(Order& order) { return reach_before_filter(order, Stage::kNoNewPrivs); }

const char* restrict(Order& order) {
  if (!order.has(Stage::kNoNewPrivs)) return "no_new_privs comes first";
  return reach_before_filter(order, Stage::kRestricted);
}

const char* drop(Order& order) {
  if (!order.has(Stage::kInCommand)) return "capabilities go in the command's process";
  return reach_before_filter(order, Stage::kDropped);
}

const char* close(Order& order) { return reach_before_filter(order, Stage::kClosed); }

const char* filter(Order& order) {
  if (!order.has(Stage::kNoNewPrivs) || !order.has(Stage::kClosed) || !order.has(Stage::kDropped)) {
    return "no_new_privs, capabilities and descriptors come first";
  }
  return reach_before_filter(order, Stage::kFiltered);
}

const char* once_awaited(Order& order) {
  return order.plan().awaits_command ? nullptr : anywhere(order);
}

const char* await(Order& order) {
  if (const char* const broken = once_awaited(order)) return broken;
  if (!order.has(Stage::kClosed)) return "descriptors are closed before the wait";
  return reach(order, Stage::kAwaited);
}

const char* execute(Order& order) {
  // The first process itself becomes a command that the caller's descriptors pass to.
  const bool is_ready = order.has(Stage::kInCommand) && order.has(Stage::kClosed);
  if (!order.plan().passes_through && !is_ready) return "descriptors are closed before exec";
  return reach(order, Stage::kExecuted);
}

}  // namespace order

namespace {

Error internal(std::string message) {
  return Error{ErrorCode::kInternal, std::move(message), "plan", ""};
}

Error broken(const LaunchPlan& plan, const Op& op, const char* rule) {
  return Error{ErrorCode::kInternal,
               "the plan breaks its own order at '" + op.describe(plan) + "': " + rule, "plan",
               "please report this"};
}

// These are in force once the clone has succeeded; there is no further step.
LayerSet confirmed_by_clone(LayerSet wanted) {
  LayerSet confirmed;
  for (const Layer layer : {Layer::kPid, Layer::kIpc, Layer::kCgroup}) {
    if (wanted.has(layer)) confirmed.add(layer);
  }
  return confirmed;
}

Status check_layers(const LaunchPlan& plan, LayerSet confirmed) {
  for (int i = 0; i < kLayerCount; ++i) {
    const auto layer = static_cast<Layer>(i);
    if (!plan.wanted.has(layer)) continue;
    const std::uint64_t flag = namespace_flag(layer);
    if ((plan.clone_flags & flag) != flag) {
      return internal(std::string("the clone does not make the namespace ") + layer_name(layer));
    }
    if (!confirmed.has(layer)) {
      return internal(std::string("no step confirms the layer ") + layer_name(layer));
    }
  }
  return {};
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
  Order order(plan);
  LayerSet confirmed = confirmed_by_clone(plan.wanted);
  for (const Op& op : plan.ops) {
    const char* const rule =
        order.has(Stage::kExecuted) ? "nothing follows the exec" : op.row()->order(order);
    if (rule != nullptr) return broken(plan, op, rule);
    if (op.confirms != kNoLayer) confirmed.add(static_cast<Layer>(op.confirms));
  }
  if (plan.awaits_command != order.has(Stage::kAwaited)) {
    return internal("the plan does not await its command");
  }
  if (!order.has(Stage::kExecuted)) return internal("the plan does not end in an exec");
  if (plan.wanted.has(Layer::kLandlock) != order.has(Stage::kRestricted) ||
      plan.wanted.has(Layer::kSeccomp) != order.has(Stage::kFiltered)) {
    return internal("a wanted layer has no step");
  }
  return check_layers(plan, confirmed);
}

}  // namespace sbx
