// SPDX-License-Identifier: Apache-2.0
// What the host itself answers to.
#pragma once

#include <vector>

#include "gateway/address.h"

namespace sbx {

// The addresses of the calling process's network interfaces (getifaddrs(3)), and what the kernel's
// local table delivers to it besides, as a load balancer's addresses are (rtnetlink(7)).
std::vector<IpNetwork> host_networks();

// Whether a server of the calling process's network listens at the address, or at all of them
// (sock_diag(7)). False where the kernel cannot say.
bool host_listens(const Endpoint& endpoint);

}  // namespace sbx
