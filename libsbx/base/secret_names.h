// SPDX-License-Identifier: Apache-2.0
// Names of variables that say password or key in short: what the scrub of the environment and the
// redaction of output both go by, beside the longer words that each of them knows in its own way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sbx {

enum class SecretName : std::uint8_t { kNone, kPassword, kKey };

// `name` is in capitals, as variables' are.
constexpr SecretName secret_name(std::string_view name) {
  if (name.find("PASSCODE") != std::string_view::npos) return SecretName::kPassword;
  SecretName found = SecretName::kNone;
  for (const std::string_view word : {"AUTHORIZATION", "ACCESSKEY", "PRIVKEY"}) {
    if (name.find(word) != std::string_view::npos) found = SecretName::kKey;
  }
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('_', at), name.size());
    const std::string_view word = name.substr(at, end - at);
    // SSHPASS, DB_PASS
    if (word.ends_with("PASS") && word != "BYPASS" && word != "COMPASS") {
      return SecretName::kPassword;
    }
    if (at > 0 && end == name.size()) {  // behind other words
      if (word == "PW") return SecretName::kPassword;
      if (word == "SK" || word == "OTP") return SecretName::kKey;
    }
    at = end + 1;
  }
  return found;
}

}  // namespace sbx
