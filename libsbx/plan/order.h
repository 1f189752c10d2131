// SPDX-License-Identifier: Apache-2.0
// Order: what a plan has reached on the way through its steps, and the rules that each operation
// names one of. Pure.
#pragma once

#include <cstdint>

namespace sbx {

struct LaunchPlan;

enum class Stage : std::uint8_t {
  kNetworked,  // in the network namespace that a step made
  kPivoted,
  kInCommand,  // in the process that becomes the command
  kNoNewPrivs,
  kRestricted,  // by Landlock
  kDropped,     // capabilities
  kClosed,      // descriptors
  kFiltered,
  kAwaited,
  kExecuted,
};

class Order {
 public:
  explicit Order(const LaunchPlan& plan) : plan_(plan) {}
  const LaunchPlan& plan() const { return plan_; }
  bool has(Stage stage) const { return (reached_ >> static_cast<unsigned>(stage) & 1) != 0; }
  void reach(Stage stage) { reached_ |= 1U << static_cast<unsigned>(stage); }

 private:
  const LaunchPlan& plan_;
  std::uint32_t reached_ = 0;
};

// Null, or the rule that a step breaks where it stands. Notes what it reaches.
using OrderRule = const char* (*)(Order& order);

namespace order {

const char* anywhere(Order& order);  // before the filter, that is
const char* before_pivot(Order& order);
const char* pivot(Order& order);
const char* join_network(Order& order);
const char* fork(Order& order);
const char* no_new_privs(Order& order);
const char* restrict(Order& order);
const char* drop(Order& order);
const char* close(Order& order);
const char* filter(Order& order);
const char* await(Order& order);
const char* once_awaited(Order& order);  // anywhere, or behind the filter once the command is there
const char* execute(Order& order);

}  // namespace order
}  // namespace sbx
