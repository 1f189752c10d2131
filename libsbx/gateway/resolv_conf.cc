// SPDX-License-Identifier: Apache-2.0
// resolv.conf(5) and hosts(5): words on lines. A server with a zone (fe80::1%eth0) is skipped.
#include "gateway/resolv_conf.h"

#include <functional>

#include "base/text.h"
#include "gateway/dns_message.h"

namespace sbx {
namespace {

constexpr std::size_t kMaxServers = 3;
constexpr std::size_t kMaxSearch = 6;
constexpr std::size_t kMaxNames = 4096;
constexpr std::size_t kMaxAddresses = 16;

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> result;
  constexpr std::string_view kSpace = " \t\r";
  for (;;) {
    const std::size_t start = line.find_first_not_of(kSpace);
    if (start == std::string_view::npos) return result;
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find_first_of(kSpace), line.size());
    result.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

void for_each_line(std::string_view text, std::string_view comment_marks,
                   const std::function<void(const std::vector<std::string_view>&)>& use) {
  for (std::string_view line : split(text, '\n')) {
    line = line.substr(0, line.find_first_of(comment_marks));
    const auto parts = words(line);
    if (parts.size() >= 2) use(parts);
  }
}

std::string plain_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  return is_host_name(name) ? lower_case(name) : std::string();
}

}  // namespace

ResolvConf parse_resolv_conf(std::string_view text) {
  ResolvConf conf;
  for_each_line(text, "#;", [&](const std::vector<std::string_view>& parts) {
    if (parts[0] == "nameserver") {
      const auto address = parse_ip(parts[1]);
      if (address && conf.servers.size() < kMaxServers) conf.servers.push_back(*address);
    } else if (parts[0] == "search" || parts[0] == "domain") {
      conf.search.clear();  // the last one counts
      for (std::size_t i = 1; i < parts.size() && conf.search.size() < kMaxSearch; ++i) {
        const std::string name = plain_name(parts[i]);
        if (!name.empty()) conf.search.push_back(name);
      }
    }
  });
  if (conf.servers.empty()) conf.servers.push_back(ipv4(127, 0, 0, 1));
  return conf;
}

HostsFile parse_hosts(std::string_view text) {
  HostsFile hosts;
  for_each_line(text, "#", [&](const std::vector<std::string_view>& parts) {
    const auto address = parse_ip(parts[0]);
    if (!address) return;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const std::string name = plain_name(parts[i]);
      if (name.empty() || (hosts.size() >= kMaxNames && !hosts.contains(name))) continue;
      auto& addresses = hosts[name];
      if (addresses.size() < kMaxAddresses) addresses.push_back(*address);
    }
  });
  return hosts;
}

}  // namespace sbx
