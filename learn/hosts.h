// SPDX-License-Identifier: Apache-2.0
// Hosts of results, of grants and of profiles, held against each other. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "learn/grants.h"

namespace sbx::learn {

// What was connected to, with ports: names as names, addresses as addresses.
std::vector<std::string> hosts_of(const nlohmann::json& result);

// Whether it adds hosts by name alone, or rules for them.
bool names_hosts(const Grant& grant);

// Whether the profile lets it through, a host with its port.
bool is_reached(const std::string& host, const NetworkProfile& network);

// Whether each is one of `seen`; of names, whatever the port.
bool are_among(const Document& hosts, const std::vector<std::string>& seen);

}  // namespace sbx::learn
