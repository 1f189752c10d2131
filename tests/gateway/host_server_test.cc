// SPDX-License-Identifier: Apache-2.0
// Who listens on the host is told of what may lead there, and of nothing else.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "gateway/gateway.h"
#include "gateway/host_networks.h"
#include "gateway/world.h"

namespace sbx::test {
namespace {

// Else a name that its owner points at the host would tell which ports are open there.
TEST(HostServer, IsToldToNobodyWhoseNameMayNotLeadToIt) {
  if (!world_obstacle().empty()) GTEST_SKIP() << world_obstacle();
  World world({"loop.test:80", "127.0.0.1:81"},
              [](GatewayOptions& options) { options.own_addresses = host_networks; });
  world.dns = std::make_unique<FakeDns>(table({{"loop.test", {"127.0.0.1"}}}));
  world.serve_dns_inside();
  const std::string name = world.lookup("loop.test");
  ASSERT_TRUE(name.starts_with("198.")) << name;
  for (const bool listens : {false, true}) {
    const OwnedFd host = listens ? outside_tcp(at("127.0.0.1", 80)) : OwnedFd();
    std::optional<bool> told;
    world.gateway().look_for_server(at(name, 80), [&](bool is) { told = is; });
    EXPECT_TRUE(world.until([&] { return told.has_value(); }));
    EXPECT_TRUE(told.value_or(false)) << listens;
  }
}

}  // namespace
}  // namespace sbx::test
