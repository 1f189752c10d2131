// SPDX-License-Identifier: Apache-2.0
// The text of /etc/resolv.conf and /etc/hosts → values. Lenient, as libc is: lines that say nothing
// known are skipped. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/address.h"

namespace sbx {

struct ResolvConf {
  std::vector<IpAddress> servers;   // at most 3, as in libc; 127.0.0.1 where none is named
  std::vector<std::string> search;  // lower case, at most 6
};
ResolvConf parse_resolv_conf(std::string_view text);

// Name in lower case → its addresses, at most 16 a name and 4096 names.
using HostsFile = std::map<std::string, std::vector<IpAddress>, std::less<>>;
HostsFile parse_hosts(std::string_view text);

}  // namespace sbx
