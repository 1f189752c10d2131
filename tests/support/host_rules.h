// SPDX-License-Identifier: Apache-2.0
// Hosts as a profile lists them.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "profile/host_rule.h"

namespace sbx {

inline HostRule host_rule(std::string_view text) { return parse_host_rule(text).value(); }

inline std::vector<HostRule> host_rules(std::initializer_list<std::string_view> texts) {
  std::vector<HostRule> rules;
  for (const std::string_view text : texts) rules.push_back(host_rule(text));
  return rules;
}

}  // namespace sbx
