// SPDX-License-Identifier: Apache-2.0
// SignedState: what a client carries from one request to the next on the server's behalf: signed
// (HMAC-SHA-256), bound to one request, expiring, and good once. Values only.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sbx {

using StateKey = std::array<std::uint8_t, 32>;

// RFC 2104 over SHA-256, in hex.
std::string hmac_sha256(std::string_view key, std::string_view text);

class SignedState {
 public:
  using Clock = std::chrono::steady_clock;

  // `key` is random, and this process's own.
  SignedState(const StateKey& key, Clock::duration good_for);

  // `request` names what the state is for; only the same opens it again.
  std::string seal(std::string_view content, std::string_view request, Clock::time_point now);
  // What was sealed. Errors: kBadValue for a text that was not made here, is for another request,
  // has expired, or was opened before.
  Result<std::string> open(std::string_view state, std::string_view request, Clock::time_point now);

 private:
  std::string signature(std::string_view payload, std::string_view request) const;

  std::string key_;
  Clock::duration good_for_;
  std::uint64_t next_serial_ = 1;
  // Those that are out: serial → when they expire. What is not here has been opened.
  std::map<std::uint64_t, Clock::time_point> open_;
};

}  // namespace sbx
