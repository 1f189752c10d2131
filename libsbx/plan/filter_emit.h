// SPDX-License-Identifier: Apache-2.0
// A small emitter of classic BPF for seccomp: runs of system call numbers, each with a return value
// or an argument check → a program that finds the run by halving. It knows no call and no policy.
#pragma once

#include <linux/filter.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sbx {

// True when the low 32 bits of argument `arg` (0 to 5), masked, equal one of `values`. The high
// half is never looked at: the kernel's int arguments ignore it, and a caller may put anything
// there.
struct ArgCondition {
  std::uint8_t arg = 0;
  std::uint32_t mask = 0xffffffffU;
  std::vector<std::uint32_t> values;
};

// Applies when every condition holds.
struct ArgRule {
  std::vector<ArgCondition> conditions;
  std::uint32_t ret = 0;  // SECCOMP_RET_*
};

// The first rule that applies decides.
struct ArgCheck {
  std::vector<ArgRule> rules;
  std::uint32_t otherwise = 0;  // SECCOMP_RET_*
};

// The numbers from `first` up to the next run's.
struct CallRun {
  std::uint32_t first = 0;
  std::uint32_t ret = 0;            // where there is no check
  const ArgCheck* check = nullptr;  // runs may share one; it is emitted once
};

// `runs` is not empty, begins at number 0 and ascends strictly. A call of another architecture than
// `audit_arch` gets `foreign_ret`. Programs beyond BPF_MAXINSNS are the caller's to notice.
std::vector<sock_filter> emit_filter(std::uint32_t audit_arch, std::uint32_t foreign_ret,
                                     std::span<const CallRun> runs);

}  // namespace sbx
