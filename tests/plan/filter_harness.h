// SPDX-License-Identifier: Apache-2.0
// What the filter's tests share: asking a compiled program for one call's fate, and numbers that
// come from libseccomp or from the test itself, never from the tables under test.
#pragma once

#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/filter.h"
#include "support/bpf_eval.h"

namespace sbx {

using Args = std::array<std::uint64_t, 6>;

constexpr std::uint64_t kGarbage = 0xdeadbeef00000000ULL;  // what int arguments ignore

inline FilterSpec default_spec() { return {}; }

inline FilterSpec strict_spec() {
  FilterSpec spec;
  spec.mode = SeccompMode::kStrict;
  spec.allow_inet = false;
  return spec;
}

inline CompiledFilter compiled(const FilterSpec& spec) {
  auto filter = compile_filter(spec);
  EXPECT_TRUE(filter.ok());
  return filter.ok() ? filter.value() : CompiledFilter{};
}

inline std::uint32_t ret_of(const CompiledFilter& filter, std::uint32_t number,
                            const Args& args = {}) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = filter.audit_arch;
  for (std::size_t i = 0; i < args.size(); ++i) data.args[i] = args[i];
  const BpfOutcome outcome = evaluate_bpf(filter.program, data);
  EXPECT_EQ(outcome.fault, "") << "call " << number;
  return outcome.ret;
}

inline FilterAction action_of_ret(std::uint32_t ret) {
  switch (ret) {
    case SECCOMP_RET_ALLOW:
      return FilterAction::kAllow;
    case SECCOMP_RET_USER_NOTIF:
    case SECCOMP_RET_ERRNO | EPERM:
      return FilterAction::kRefuse;
    case SECCOMP_RET_ERRNO | ENOSYS:
      return FilterAction::kUnknown;
    default:
      EXPECT_EQ(ret, SECCOMP_RET_KILL_PROCESS);
      return FilterAction::kKill;
  }
}

inline FilterAction fate(const CompiledFilter& filter, int number, const Args& args = {}) {
  return action_of_ret(ret_of(filter, static_cast<std::uint32_t>(number), args));
}

// Negative where this architecture has no such call.
inline int number_of(const std::string& name) { return seccomp_syscall_resolve_name(name.c_str()); }

inline FilterAction fate(const CompiledFilter& filter, const std::string& name,
                         const Args& args = {}) {
  const int number = number_of(name);
  EXPECT_GE(number, 0) << name;
  return fate(filter, number, args);
}

inline void PrintTo(FilterAction action, std::ostream* out) {
  constexpr std::array kNames = {"allow", "mediate", "refuse", "unknown", "kill"};
  *out << kNames.at(static_cast<std::size_t>(action));
}

// Every combination of the switches, in both modes.
inline std::vector<FilterSpec> every_spec() {
  std::vector<FilterSpec> specs;
  for (unsigned bits = 0; bits < 128; ++bits) {
    FilterSpec spec;
    spec.mode = (bits & 1U) != 0 ? SeccompMode::kStrict : SeccompMode::kDefault;
    spec.notify_refused = (bits & 2U) != 0;
    spec.allow_user_namespaces = (bits & 4U) != 0;
    spec.network_namespace = (bits & 8U) != 0;
    spec.allow_inet = (bits & 16U) != 0;
    spec.pid_namespace = (bits & 32U) != 0;
    spec.ipc_namespace = (bits & 64U) != 0;
    specs.push_back(spec);
  }
  return specs;
}

inline std::string describe(const FilterSpec& spec) {
  return std::string(spec.mode == SeccompMode::kStrict ? "strict" : "default") +
         " notify=" + std::to_string(spec.notify_refused) +
         " userns=" + std::to_string(spec.allow_user_namespaces) +
         " netns=" + std::to_string(spec.network_namespace) +
         " inet=" + std::to_string(spec.allow_inet) +
         " pidns=" + std::to_string(spec.pid_namespace) +
         " ipcns=" + std::to_string(spec.ipc_namespace);
}

}  // namespace sbx
