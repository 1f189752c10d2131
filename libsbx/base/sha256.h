// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for digests of profiles and approvals. Not for passwords or signatures.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sbx {

// For what comes in parts.
class Sha256 {
 public:
  Sha256();
  void add(std::string_view bytes);
  std::string hex();  // once, at the end

 private:
  std::array<std::uint32_t, 8> state_;
  std::string rest_;  // less than a block
  std::uint64_t size_ = 0;
};

// 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace sbx
