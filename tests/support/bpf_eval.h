// SPDX-License-Identifier: Apache-2.0
// Runs a seccomp program in user space: (program, seccomp_data) → SECCOMP_RET_*, or the fault that
// made it no valid program. Strict: only what filters of sbx and libseccomp are made of is known.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <span>
#include <string>

namespace sbx {

struct BpfOutcome {
  std::string fault;      // empty when the program returned
  std::uint32_t ret = 0;  // SECCOMP_RET_*
  int steps = 0;          // instructions executed

  bool operator==(const BpfOutcome&) const = default;
};

BpfOutcome evaluate_bpf(std::span<const sock_filter> program, const seccomp_data& data);

// What makes the program invalid whatever the data: unknown instructions, jumps that leave it,
// loads outside seccomp_data, an end that can be fallen off, or too many instructions. Empty when
// valid.
std::string bpf_fault(std::span<const sock_filter> program);

}  // namespace sbx
