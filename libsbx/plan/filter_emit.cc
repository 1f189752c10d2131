// SPDX-License-Identifier: Apache-2.0
// The emitter. BPF jumps only forwards, so the program is written from its end to its beginning:
// every target then exists before the jump to it, and distances are known at once.
#include "plan/filter_emit.h"

#include <linux/seccomp.h>

#include <algorithm>
#include <utility>

namespace sbx {
namespace {

constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kMask = BPF_ALU | BPF_AND | BPF_K;
constexpr std::uint16_t kJump = BPF_JMP | BPF_JA;
constexpr std::uint16_t kIfEqual = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t kIfAtLeast = BPF_JMP | BPF_JGE | BPF_K;
constexpr std::uint16_t kReturn = BPF_RET | BPF_K;

// A conditional jump's distances are bytes.
constexpr std::size_t kReach = 255;

constexpr std::uint32_t low_half_of_arg(std::uint8_t arg) {
  constexpr bool kBigEndian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + arg * sizeof(std::uint64_t) +
                                    (kBigEndian ? sizeof(std::uint32_t) : 0));
}

// An instruction's place, counted from the program's end.
using Label = std::size_t;

class BackwardProgram {
 public:
  // An instruction that goes on to `next`.
  Label step(std::uint16_t code, std::uint32_t k, Label next) {
    if (next + 1 != reversed_.size()) jump(next);
    return push({code, 0, 0, k});
  }

  Label returns(std::uint32_t value) {
    const auto known = std::find_if(returns_.begin(), returns_.end(),
                                    [&](const auto& entry) { return entry.first == value; });
    if (known == returns_.end()) {
      returns_.emplace_back(value, push({kReturn, 0, 0, value}));
      return returns_.back().second;
    }
    known->second = within_reach(known->second);
    return known->second;
  }

  Label branch(std::uint16_t code, std::uint32_t k, Label if_true, Label if_false) {
    if_true = within_reach(if_true);
    if_false = within_reach(if_false);
    return push({code, distance(if_true), distance(if_false), k});
  }

  std::vector<sock_filter> finish() && {
    std::reverse(reversed_.begin(), reversed_.end());
    return std::move(reversed_);
  }

 private:
  Label push(const sock_filter& instruction) {
    reversed_.push_back(instruction);
    return reversed_.size() - 1;
  }

  Label jump(Label target) {
    const auto skipped = static_cast<std::uint32_t>(reversed_.size() - target - 1);
    return push({kJump, 0, 0, skipped});
  }

  std::uint8_t distance(Label target) const {
    return static_cast<std::uint8_t>(reversed_.size() - target - 1);
  }

  // `target`, or a stepping stone nearby: a copy where the target is a return, a jump otherwise.
  // One place is kept in hand for a stone of the same branch's other arm.
  Label within_reach(Label target) {
    if (reversed_.size() - target <= kReach) return target;
    if (reversed_[target].code != kReturn) return jump(target);
    return push(sock_filter(reversed_[target]));
  }

  std::vector<sock_filter> reversed_;
  std::vector<std::pair<std::uint32_t, Label>> returns_;  // the nearest copy of each
};

Label emit_condition(BackwardProgram& program, const ArgCondition& condition, Label then,
                     Label otherwise) {
  Label next = otherwise;
  for (std::size_t i = condition.values.size(); i > 0; --i) {
    next = program.branch(kIfEqual, condition.values[i - 1], then, next);
  }
  if (condition.values.empty()) return next;
  if (condition.mask != 0xffffffffU) next = program.step(kMask, condition.mask, next);
  return program.step(kLoad, low_half_of_arg(condition.arg), next);
}

Label emit_check(BackwardProgram& program, const ArgCheck& check) {
  Label next = program.returns(check.otherwise);
  for (std::size_t i = check.rules.size(); i > 0; --i) {
    const ArgRule& rule = check.rules[i - 1];
    Label then = program.returns(rule.ret);
    for (std::size_t j = rule.conditions.size(); j > 0; --j) {
      then = emit_condition(program, rule.conditions[j - 1], then, next);
    }
    next = then;
  }
  return next;
}

using CheckLabels = std::vector<std::pair<const ArgCheck*, Label>>;

CheckLabels emit_checks(BackwardProgram& program, std::span<const CallRun> runs) {
  CheckLabels labels;
  for (const CallRun& run : runs) {
    const bool emitted = std::any_of(labels.begin(), labels.end(),
                                     [&](const auto& entry) { return entry.first == run.check; });
    if (run.check == nullptr || emitted) continue;
    labels.emplace_back(run.check, emit_check(program, *run.check));
  }
  return labels;
}

Label emit_tree(BackwardProgram& program, std::span<const CallRun> runs,
                const CheckLabels& checks) {
  if (runs.size() == 1) {
    const ArgCheck* check = runs.front().check;
    if (check == nullptr) return program.returns(runs.front().ret);
    return std::find_if(checks.begin(), checks.end(),
                        [&](const auto& entry) { return entry.first == check; })
        ->second;
  }
  const std::size_t middle = runs.size() / 2;
  const Label right = emit_tree(program, runs.subspan(middle), checks);
  const Label left = emit_tree(program, runs.first(middle), checks);
  return program.branch(kIfAtLeast, runs[middle].first, right, left);
}

}  // namespace

std::vector<sock_filter> emit_filter(std::uint32_t audit_arch, std::uint32_t foreign_ret,
                                     std::span<const CallRun> runs) {
  BackwardProgram program;
  const CheckLabels checks = emit_checks(program, runs);
  const Label tree = emit_tree(program, runs, checks);
  const Label native = program.step(kLoad, offsetof(seccomp_data, nr), tree);
  const Label foreign = program.returns(foreign_ret);
  const Label entry = program.branch(kIfEqual, audit_arch, native, foreign);
  program.step(kLoad, offsetof(seccomp_data, arch), entry);
  return std::move(program).finish();
}

}  // namespace sbx
