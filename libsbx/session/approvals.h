// SPDX-License-Identifier: Apache-2.0
// Approvals: what a person has allowed, by the digest of exactly that request under exactly that
// policy. Only the operator's side grants; a request can but name what was granted. Values only.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "guard/verdict.h"
#include "policy/policy.h"

namespace sbx {

// SHA-256 over the command, its directory, environment, input and files, what it may reach and for
// how long, the policy, and the rules that asked. 64 hex digits.
std::string approval_digest(const Policy& policy, const Request& request, const std::string& cwd,
                            const Judgement& judgement);

// One thread.
class Approvals {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::minutes kLifetime{10};
  static constexpr std::size_t kMaxOpen = 1024;  // beyond it the oldest is forgotten

  explicit Approvals(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  void grant(std::string_view digest);
  // Whether it was granted within the lifetime; it is used up by that.
  bool take(std::string_view digest);

 private:
  void forget_old();

  std::function<Clock::time_point()> now_;
  std::map<std::string, Clock::time_point, std::less<>> granted_;
};

}  // namespace sbx
