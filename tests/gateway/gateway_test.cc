// SPDX-License-Identifier: Apache-2.0
// The whole gateway between two namespaces: what is reached, what is refused, and what is said of
// it.
#include "gateway/gateway.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gateway/host_networks.h"
#include "gateway/world.h"

namespace sbx::test {
namespace {

class GatewayTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!world_obstacle().empty()) GTEST_SKIP() << world_obstacle();
  }
};

// A request and its answer, over a connection that is made already.
void expect_talk(World& world, int client, int server) {
  ASSERT_TRUE(send_all(client, "ping"));
  Seen at_server;
  ASSERT_TRUE(world.until([&] { return look(server, at_server), at_server.bytes == "ping"; }));
  ASSERT_TRUE(send_all(server, "pong"));
  Seen at_client;
  ASSERT_TRUE(world.until([&] { return look(client, at_client), at_client.bytes == "pong"; }));
}

bool is_refused(World& world, const Endpoint& destination) {
  const OwnedFd client = inside_client(destination);
  Seen seen;
  return world.until([&] { return look(client.get(), seen), seen.is_reset; });
}

// An allowlist by address, network and port.
TEST_F(GatewayTest, ReachesAnAllowedAddressAndRefusesOthersWithTheGrant) {
  World world({"203.0.113.7:80", "203.0.113.64/26:80"});
  world.listen_inside({80, 81});
  const OwnedFd server = outside_tcp(at("203.0.113.7", 80));
  auto [client, accepted] = world.connect_through(at("203.0.113.7", 80), server.get());
  ASSERT_TRUE(accepted.is_open());
  expect_talk(world, client.get(), accepted.get());
  EXPECT_TRUE(is_refused(world, at("203.0.113.8", 80)));
  EXPECT_TRUE(is_refused(world, at("203.0.113.7", 81)));
  EXPECT_TRUE(is_refused(world, at("203.0.113.7", 81)));

  bool seen = false;
  for (const Denial& denial : world.denials()) {
    if (denial.target != "203.0.113.7:81") continue;
    seen = true;
    EXPECT_EQ(denial.operation, "connect");
    EXPECT_EQ(denial.count, 2U);
    EXPECT_EQ(denial.grant, "network.allow += [\"203.0.113.7:81\"]");
  }
  EXPECT_TRUE(seen);
  const OwnedFd in_network = outside_tcp(at("203.0.113.70", 80));
  EXPECT_TRUE(world.connect_through(at("203.0.113.70", 80), in_network.get()).second.is_open());
}

TEST_F(GatewayTest, ReachesAnAllowedIpv6Address) {
  World world({"[2001:db8::7]:443"});
  world.listen_inside({443});
  const OwnedFd server = outside_tcp(at("2001:db8::7", 443));
  auto [client, accepted] = world.connect_through(at("2001:db8::7", 443), server.get());
  ASSERT_TRUE(accepted.is_open());
  expect_talk(world, client.get(), accepted.get());
  EXPECT_TRUE(is_refused(world, at("2001:db8::8", 443)));
  EXPECT_TRUE(world.is_denied("connect", "[2001:db8::8]:443"));
}

TEST_F(GatewayTest, ReachesAnAllowedNameByTheAddressItIsAnsweredWith) {
  World world({"example.test:80", "*.wild.test:80"});
  world.dns = std::make_unique<FakeDns>(
      table({{"example.test", {"203.0.113.7"}}, {"a.wild.test", {"2001:db8::9"}}}));
  world.listen_inside({80, 22});
  world.serve_dns_inside();
  const OwnedFd server = outside_tcp(at("203.0.113.7", 80));
  const std::string address = world.lookup("example.test");
  ASSERT_TRUE(address.starts_with("198.1")) << address;
  auto [client, accepted] = world.connect_through(at(address, 80), server.get());
  ASSERT_TRUE(accepted.is_open());
  expect_talk(world, client.get(), accepted.get());
  EXPECT_TRUE(is_refused(world, at(address, 22)));
  EXPECT_TRUE(world.is_denied("connect", "example.test:22"));
  // The name's real address was not allowed as such.
  EXPECT_TRUE(is_refused(world, at("203.0.113.7", 80)));

  const std::string v6 = world.lookup("a.wild.test", DnsType::kAaaa);
  ASSERT_TRUE(v6.starts_with("fd00:5b::")) << v6;
  const OwnedFd v6_server = outside_tcp(at("2001:db8::9", 80));
  EXPECT_TRUE(world.connect_through(at(v6, 80), v6_server.get()).second.is_open());
  // IPv4 inside, IPv6 outside.
  const std::string v4 = world.lookup("a.wild.test");
  EXPECT_TRUE(world.connect_through(at(v4, 80), v6_server.get()).second.is_open());
  EXPECT_EQ(world.lookup("wild.test"), "#3");
}

TEST_F(GatewayTest, RecordsWhatWasLetThrough) {
  World world({"example.test:80"},
              [](GatewayOptions& options) { options.hosts = "203.0.113.7 example.test\n"; });
  world.listen_inside({80});
  world.serve_dns_inside();
  const OwnedFd server = outside_tcp(at("203.0.113.7", 80));
  auto [client, accepted] =
      world.connect_through(at(world.lookup("example.test"), 80), server.get());
  ASSERT_TRUE(accepted.is_open());
  ASSERT_TRUE(send_all(client.get(), "12345"));
  ASSERT_TRUE(send_all(accepted.get(), "1234567"));
  ASSERT_TRUE(world.until([&] {
    const auto list = world.gateway().connections();
    return list.size() == 1 && list[0].bytes_out == 5 && list[0].bytes_in == 7;
  }));
  const AllowedConnection record = world.gateway().connections().front();
  EXPECT_EQ(record.name, "example.test");
  EXPECT_EQ(record.address, "203.0.113.7");
  EXPECT_EQ(record.port, 80);
}

// Rebinding: an allowed name that its owner points at the host.
TEST_F(GatewayTest, RefusesANameThatLeadsToTheHostUnlessThatAddressIsListed) {
  const std::map<std::string, std::vector<std::string>> names = {
      {"loop.test", {"127.0.0.1"}},         {"meta.test", {"169.254.169.254"}},
      {"own.test", {"203.0.113.200"}},      {"six.test", {"::1"}},
      {"mapped.test", {"64:ff9b::7f00:1"}}, {"zero.test", {"0.0.0.0"}},
      {"fake.test", {"198.18.0.1"}},        {"compat.test", {"::127.0.0.1"}}};
  std::vector<std::string> allow = {"127.0.0.1:81"};
  for (const auto& [name, addresses] : names) allow.push_back(name + ":80");
  World world(allow, [](GatewayOptions& options) {
    options.own_addresses = [] { return std::vector<IpNetwork>{ipv4(203, 0, 113, 200)}; };
  });
  world.dns = std::make_unique<FakeDns>(table(names));
  world.serve_dns_inside();
  for (const auto& [name, addresses] : names) {
    const auto type = addresses[0].find(':') == std::string::npos ? DnsType::kA : DnsType::kAaaa;
    if (name == "loop.test") continue;  // its address is listed, for another port
    EXPECT_EQ(world.lookup(name, type), "#3") << name;
    const std::string shown = ip_text(*parse_ip(addresses[0]));
    EXPECT_TRUE(world.is_denied("dns", name + " (" + shown + ")")) << name << " " << shown;
  }
  const OwnedFd host = outside_tcp(at("127.0.0.1", 80));
  world.listen_inside({80});
  EXPECT_TRUE(is_refused(world, at(world.lookup("loop.test"), 80)));
  EXPECT_TRUE(world.is_denied("connect", "loop.test:80 (127.0.0.1)"));
}

TEST_F(GatewayTest, FollowsANameToALoopbackAddressThatIsListed) {
  World world({"loop.test:80", "127.0.0.1:80"},
              [](GatewayOptions& options) { options.hosts = "127.0.0.1 loop.test"; });
  world.serve_dns_inside();
  world.listen_inside({80});
  const OwnedFd host = outside_tcp(at("127.0.0.1", 80));
  EXPECT_TRUE(
      world.connect_through(at(world.lookup("loop.test"), 80), host.get()).second.is_open());
}

TEST_F(GatewayTest, MapsHostPortsAndNoOthersInEveryMode) {
  for (const NetworkMode mode :
       {NetworkMode::kNone, NetworkMode::kAllowlist, NetworkMode::kOutbound}) {
    World world({}, [&](GatewayOptions& options) {
      options.mode = mode;
      options.host_ports = {5432};
    });
    world.listen_inside({5432, 5433});
    const OwnedFd host = outside_tcp(at("127.0.0.1", 5432));
    const OwnedFd other = outside_tcp(at("127.0.0.1", 5433));
    EXPECT_TRUE(world.connect_through(at("127.0.0.1", 5432), host.get()).second.is_open());
    EXPECT_TRUE(world.connect_through(at("::1", 5432), host.get()).second.is_open());
    EXPECT_TRUE(is_refused(world, at("127.0.0.1", 5433)));
    EXPECT_TRUE(is_refused(world, at("127.0.0.2", 5433)));
    EXPECT_EQ(world.gateway().would_relay(at("203.0.113.9", 5432)), mode == NetworkMode::kOutbound);
    bool has_grant = false;
    for (const Denial& denial : world.denials()) {
      has_grant = has_grant || denial.grant == "network.host_ports += [5433]";
    }
    EXPECT_TRUE(has_grant);
  }
}

TEST_F(GatewayTest, WhatARouteMakesLocalIsTheHosts) {
  const auto own = host_networks();  // of the namespace that plays the outside
  const auto holds = [&](const char* address) {
    return std::any_of(own.begin(), own.end(),
                       [&](const IpNetwork& network) { return network.holds(*parse_ip(address)); });
  };
  for (const char* address : {"127.0.0.1", "::1", "203.0.113.77", "2001:db8::77"}) {
    EXPECT_TRUE(holds(address)) << address;
  }
  for (const char* address : {"203.0.114.1", "2001:db9::1", "192.0.2.1"}) {
    EXPECT_FALSE(holds(address)) << address;
  }
}

TEST_F(GatewayTest, OutboundReachesAnythingButTheHostItself) {
  World world({}, [](GatewayOptions& options) {
    options.mode = NetworkMode::kOutbound;
    options.own_addresses = [] { return std::vector<IpNetwork>{ipv4(203, 0, 113, 200)}; };
  });
  world.dns = std::make_unique<FakeDns>(table({{"any.test", {"203.0.113.7"}}}));
  world.serve_dns_inside();
  world.listen_inside({8080});
  const OwnedFd server = outside_tcp(at("203.0.113.7", 8080));
  EXPECT_TRUE(world.connect_through(at("203.0.113.7", 8080), server.get()).second.is_open());
  EXPECT_TRUE(
      world.connect_through(at(world.lookup("any.test"), 8080), server.get()).second.is_open());
  const OwnedFd own = outside_tcp(at("203.0.113.200", 8080));
  const OwnedFd loop = outside_tcp(at("127.0.0.1", 8080));
  for (const char* address : {"203.0.113.200", "127.0.0.1", "::1", "169.254.169.254", "0.0.0.0",
                              "fe80::1", "64:ff9b::a9fe:a9fe", "224.0.0.1", "fd00:ec2::254"}) {
    EXPECT_FALSE(world.gateway().would_relay(at(address, 8080))) << address;
  }
  EXPECT_TRUE(is_refused(world, at("203.0.113.200", 8080)));
  EXPECT_TRUE(is_refused(world, at("127.0.0.1", 8080)));
  EXPECT_TRUE(world.gateway().would_relay(at("10.1.2.3", 1)));
}

TEST_F(GatewayTest, ResetsTheClientWhenNobodyListensThere) {
  World world({"203.0.113.7:80"});
  world.listen_inside({80});
  EXPECT_TRUE(is_refused(world, at("203.0.113.7", 80)));
  EXPECT_TRUE(world.denials().empty());
  EXPECT_EQ(world.gateway().connections().front().address, "203.0.113.7");
}

TEST_F(GatewayTest, TriesTheNextAddressOfANameWhenOneDoesNotAnswer) {
  World world({"two.test:80"}, [](GatewayOptions& options) {
    options.hosts = "203.0.113.10 two.test\n203.0.113.11 two.test\n";
  });
  world.serve_dns_inside();
  world.listen_inside({80});
  const OwnedFd server = outside_tcp(at("203.0.113.11", 80));
  EXPECT_TRUE(
      world.connect_through(at(world.lookup("two.test"), 80), server.get()).second.is_open());
}

TEST_F(GatewayTest, RefusesConnectionsBeyondItsBoundAndCountsThem) {
  World world({"203.0.113.7:80"}, [](GatewayOptions& options) { options.max_connections = 2; });
  world.listen_inside({80});
  const OwnedFd server = outside_tcp(at("203.0.113.7", 80));
  auto first = world.connect_through(at("203.0.113.7", 80), server.get());
  auto second = world.connect_through(at("203.0.113.7", 80), server.get());
  ASSERT_TRUE(first.second.is_open() && second.second.is_open());
  EXPECT_TRUE(is_refused(world, at("203.0.113.7", 80)));
  EXPECT_TRUE(world.is_denied("connections", "more than 2 at once"));
  first.first.reset();
  first.second.reset();
  world.settle();
  EXPECT_TRUE(world.connect_through(at("203.0.113.7", 80), server.get()).second.is_open());
}

TEST_F(GatewayTest, CarriesAThousandConnectionsAtOnce) {
  const std::size_t count = 1000;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 4 * count + 256) GTEST_SKIP() << "too few descriptors are allowed";
  World world({"203.0.113.7:80"});
  world.listen_inside({80});
  const OwnedFd server = outside_tcp(at("203.0.113.7", 80));
  std::vector<OwnedFd> clients, accepted;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(inside_client(at("203.0.113.7", 80)));
  }
  ASSERT_TRUE(world.until([&] {
    for (;;) {
      OwnedFd next(accept4(server.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!next.is_open()) break;
      accepted.push_back(std::move(next));
    }
    return accepted.size() == count;
  })) << accepted.size();
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(send_all(clients[i].get(), std::to_string(i)));
    shutdown(clients[i].get(), SHUT_WR);
  }
  std::vector<Seen> seen(count);
  ASSERT_TRUE(world.until([&] {
    std::size_t ended = 0;
    for (std::size_t i = 0; i < count; ++i) {
      look(accepted[i].get(), seen[i]);
      ended += seen[i].at_end ? 1 : 0;
    }
    return ended == count;
  }));
  std::size_t sum = 0;
  for (const Seen& each : seen) sum += std::stoul(each.bytes);
  EXPECT_EQ(sum, count * (count - 1) / 2);
}

TEST_F(GatewayTest, BoundsItsListsOfRefusalsAndConnections) {
  World world({"203.0.113.7:80"});
  for (int port = 1; port <= 400; ++port) {
    world.gateway().count_refusal("connect", at("203.0.113.9", port), "curl");
  }
  const auto denials = world.denials();
  ASSERT_EQ(denials.size(), 257U);
  EXPECT_EQ(denials.back().count, 144U);
  EXPECT_EQ(denials.front().program, "curl");
}

TEST_F(GatewayTest, PublishesAPortOfTheSandboxOnTheHost) {
  World world({});
  const OwnedFd inside = inside_tcp(at("127.0.0.1", 3000));
  const OwnedFd probe = outside_tcp(at("127.0.0.1", 13000));
  ASSERT_TRUE(world.gateway()
                  .add_publish(outside_tcp(at("127.0.0.1", 13001)),
                               [] { return inside_client(at("127.0.0.1", 3000)); })
                  .ok());
  const OwnedFd client = outside_client(at("127.0.0.1", 13001));
  OwnedFd accepted;
  ASSERT_TRUE(world.until([&] {
    accepted.reset(accept4(inside.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    return accepted.is_open();
  }));
  expect_talk(world, client.get(), accepted.get());
  EXPECT_TRUE(world.gateway().connections().empty());
}

// A connection would come back to itself.
TEST_F(GatewayTest, LeadsToNoPortThatItPublishes) {
  World world({"127.0.0.1:13004", "loop.test:13004"}, [](GatewayOptions& options) {
    options.host_ports = {13003};
    options.hosts = "127.0.0.1 loop.test";
  });
  std::size_t visitors = 0;
  for (const int port : {13003, 13004}) {
    ASSERT_TRUE(world.gateway()
                    .add_publish(outside_tcp(at("127.0.0.1", port)),
                                 [&visitors] { return ++visitors, OwnedFd(); })
                    .ok());
  }
  world.listen_inside({13003, 13004});
  world.serve_dns_inside();
  for (const Endpoint& published :
       {at("127.0.0.1", 13003), at("::1", 13003), at("127.0.0.1", 13004)}) {
    std::optional<bool> told;
    if (!published.address.is_v6) {
      world.gateway().look_for_server(published, [&](bool is) { told = is; });
      EXPECT_FALSE(told.value_or(true));
    }
    EXPECT_TRUE(is_refused(world, published));
  }
  EXPECT_EQ(visitors, 0U);
  // By a name it is somebody else's server for all that the command knows.
  EXPECT_TRUE(is_refused(world, at(world.lookup("loop.test"), 13004)));
  EXPECT_EQ(visitors, 1U);
}

TEST_F(GatewayTest, ResetsAVisitorOfAPublishedPortWhereNothingListens) {
  World world({});
  ASSERT_TRUE(world.gateway()
                  .add_publish(outside_tcp(at("127.0.0.1", 13002)),
                               [] { return inside_client(at("127.0.0.1", 3001)); })
                  .ok());
  const OwnedFd client = outside_client(at("127.0.0.1", 13002));
  Seen seen;
  EXPECT_TRUE(world.until([&] { return look(client.get(), seen), seen.is_reset; }));
}

TEST_F(GatewayTest, KnowsWhetherSomethingWrittenIsStillToBeHandedOn) {
  World world({"203.0.113.7:80"});
  world.listen_inside({80});
  const OwnedFd server = outside_tcp(at("203.0.113.7", 80));
  EXPECT_FALSE(world.gateway().has_unsent());
  OwnedFd client = inside_client(at("203.0.113.7", 80));
  ASSERT_TRUE(send_all(client.get(), "last words"));
  client.reset();  // a command that ends right after it has written
  EXPECT_TRUE(world.gateway().has_unsent());
  ASSERT_TRUE(world.until([&] { return !world.gateway().has_unsent(); }));
  const OwnedFd accepted(accept4(server.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  Seen seen;
  EXPECT_TRUE(world.until([&] { return look(accepted.get(), seen), seen.at_end; }));
  EXPECT_EQ(seen.bytes, "last words");
}

// A kept shell's call may end before this process has turned to what the command has connected.
TEST_F(GatewayTest, WhatWaitsIsOnRecordOnceItIsAskedFor) {
  World world({}, [](GatewayOptions& options) { options.host_ports = {5432}; });
  world.listen_inside({5432});
  const OwnedFd server = outside_tcp(at("127.0.0.1", 5432));
  inside_client(at("127.0.0.1", 5432)).reset();
  EXPECT_TRUE(world.gateway().connections().empty());
  world.gateway().accept_waiting();
  const auto list = world.gateway().connections();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].address, "127.0.0.1");
  EXPECT_EQ(list[0].port, 5432);
  // Nothing goes out any more when all inside has ended.
  inside_client(at("127.0.0.1", 5432)).reset();
  world.gateway().note_end();
  world.gateway().accept_waiting();
  EXPECT_EQ(world.gateway().connections().size(), 1U);
}

TEST_F(GatewayTest, ClosesAListenerMadeForOneDestinationWhenNothingComes) {
  World world({"203.0.113.7:80"});
  const Endpoint destination = at("203.0.113.7", 80);
  const OwnedFd server = outside_tcp(destination);
  EXPECT_FALSE(world.gateway().has_listener(destination));
  ASSERT_TRUE(world.gateway().add_listener(inside_tcp(destination)).ok());
  EXPECT_TRUE(world.gateway().has_listener(destination));
  EXPECT_FALSE(world.gateway().has_listener(at("203.0.113.8", 80)));
  auto [client, accepted] = world.connect_through(destination, server.get());
  ASSERT_TRUE(accepted.is_open());
  ASSERT_TRUE(world.until([&] { return !world.gateway().deadline().has_value(); }));
  EXPECT_FALSE(world.gateway().has_listener(destination));
  EXPECT_TRUE(inside_tcp(destination).is_open()) << "the port is free again";
  expect_talk(world, client.get(), accepted.get());
}

TEST_F(GatewayTest, KnowsWhetherAnybodyListensOnTheHostItself) {
  World world({"203.0.113.7:80", "203.0.113.7:81", "own.test:81"}, [](GatewayOptions& options) {
    options.host_ports = {5432, 5433, 5434};
    options.hosts = "203.0.113.7 own.test\n";
    options.own_addresses = host_networks;
  });
  const auto is_there = [&](const Endpoint& destination) {
    std::optional<bool> told;
    world.gateway().look_for_server(destination, [&](bool is) { told = is; });
    EXPECT_TRUE(world.until([&] { return told.has_value(); }));
    return told.value_or(false);
  };
  world.serve_dns_inside();
  const std::string name = world.lookup("own.test");
  ASSERT_NE(name, "");
  for (const Endpoint& nowhere : {at("127.0.0.1", 5432), at("::1", 5432), at("203.0.113.7", 80),
                                  at("203.0.113.7", 81), at(name, 81)}) {
    EXPECT_FALSE(is_there(nowhere)) << endpoint_text(nowhere);
  }
  const OwnedFd one = outside_tcp(at("127.0.0.1", 5432));
  const OwnedFd six = outside_tcp(at("::1", 5434));
  const OwnedFd all = outside_tcp(at("::", 5433));
  const OwnedFd own = outside_tcp(at("203.0.113.7", 81));
  for (const Endpoint& somewhere :
       {at("127.0.0.1", 5432), at("::1", 5432), at("127.0.0.1", 5433), at("::1", 5433),
        at("::1", 5434), at("203.0.113.7", 81), at(name, 81)}) {
    EXPECT_TRUE(is_there(somewhere)) << endpoint_text(somewhere);
  }
  EXPECT_FALSE(is_there(at("127.0.0.1", 5434)));
  for (const OwnedFd* server : {&one, &six, &all, &own}) {  // nobody has been tried for
    EXPECT_LT(accept4(server->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), 0);
  }
}

TEST_F(GatewayTest, KnowsThatAWildcardListenerTakesEveryAddress) {
  World world({"203.0.113.7:80"});
  world.listen_inside({80});
  EXPECT_TRUE(world.gateway().has_listener(at("203.0.113.7", 80)));
  EXPECT_TRUE(world.gateway().has_listener(at("2001:db8::1", 80)));
  EXPECT_FALSE(world.gateway().has_listener(at("203.0.113.7", 81)));
}

TEST_F(GatewayTest, IsIdleWhenNothingIsUnderWay) {
  World world({"203.0.113.7:80"});
  world.listen_inside({80});
  const OwnedFd server = outside_tcp(at("203.0.113.7", 80));
  auto [client, accepted] = world.connect_through(at("203.0.113.7", 80), server.get());
  ASSERT_TRUE(accepted.is_open());
  // The listener's time runs out; a connection has none.
  EXPECT_TRUE(world.until([&] { return !world.gateway().deadline().has_value(); }));
  world.settle();
  EXPECT_FALSE(world.gateway().deadline().has_value());
  EXPECT_EQ(world.gateway().connections().size(), 1U);
}

TEST(AllowGrant, IsOfOneHostOrNone) {
  const auto grant = [](const char* text) { return allow_grant(NetworkMode::kAllowlist, text); };
  EXPECT_EQ(grant("a.org:443"), "network.allow += [\"a.org:443\"]");
  EXPECT_EQ(grant("[2001:db8::1]:443"), "network.allow += [\"[2001:db8::1]:443\"]");
  EXPECT_EQ(allow_grant(NetworkMode::kNone, "a.org"),
            "network.mode = \"allowlist\", network.allow += [\"a.org\"]");
  for (const char* text : {"*.com", "*.com:443", "0.0.0.0/0", "10.0.0.0/8:80", "::/0", "a\"]b.org",
                           "a.org\", \"b.org", "a b", "", "a.org:0"}) {
    EXPECT_EQ(grant(text), "") << text;
  }
}

TEST(HostPortGrant, IsOfNoPortThatTheResolverInsideHas) {
  EXPECT_EQ(host_port_grant(5432), "network.host_ports += [5432]");
  EXPECT_EQ(host_port_grant(53), "");
}

TEST(Gateway, IsNotForTheHostsOwnNetwork) {
  GatewayOptions options;
  DenialLedger denials;
  options.mode = NetworkMode::kOpen;
  EXPECT_FALSE(Gateway::create(options, denials).ok());
}

// --- through an upstream proxy

class UpstreamTest : public GatewayTest {
 protected:
  // A client inside, and its connection at the proxy.
  void connect(const std::string& name) {
    for (OwnedFd* each : {&client_, &proxy_, &listener_}) each->reset();
    world_.reset();
    world_.emplace(std::vector<std::string>{name + ":80"}, [](GatewayOptions& options) {
      options.upstream = parse_upstream("http://ann:pw@203.0.113.9:3128", "x").value();
    });
    world_->listen_inside({80});
    world_->serve_dns_inside();
    listener_ = outside_tcp(at("203.0.113.9", 3128));
    std::tie(client_, proxy_) = world_->connect_through(
        at(parse_ip(name) ? name : world_->lookup(name), 80), listener_.get());
    ASSERT_TRUE(proxy_.is_open());
    Seen seen;
    const std::string asked = "CONNECT " + name + ":80 HTTP/1.1\r\nHost: " + name +
                              ":80\r\nProxy-Authorization: Basic YW5uOnB3\r\n\r\n";
    ASSERT_TRUE(world_->until([&] { return look(proxy_.get(), seen), seen.bytes == asked; }))
        << seen.bytes;
  }
  // What the client sees in the end after this answer.
  Seen seen_after(const std::string& answer) {
    Seen seen;
    EXPECT_TRUE(send_all(proxy_.get(), answer));
    EXPECT_TRUE(world_->until([&] { return look(client_.get(), seen), seen.is_reset; }));
    return seen;
  }

  std::optional<World> world_;
  OwnedFd listener_;
  OwnedFd client_;
  OwnedFd proxy_;
};

TEST_F(UpstreamTest, IsAskedForNamesAndTalkedThrough) {
  connect("example.test");  // which no name server knows
  ASSERT_TRUE(send_all(proxy_.get(), "HTTP/1.1 200 OK\r\nVia: x\r\n\r\n"));
  expect_talk(*world_, client_.get(), proxy_.get());
  EXPECT_EQ(world_->gateway().connections().front().address, "");
}

TEST_F(UpstreamTest, IsNotTheAddressOnRecord) {
  connect("203.0.113.7");
  EXPECT_EQ(seen_after("HTTP/1.1 403 Forbidden\r\n\r\n").bytes, "");
  ASSERT_EQ(world_->gateway().connections().size(), 1U);
  EXPECT_EQ(world_->gateway().connections().front().address, "203.0.113.7");
}

TEST_F(UpstreamTest, ItsAnswerMayComeInPiecesWithTheServersFirstBytesBehind) {
  connect("example.test");
  const std::string answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nA: b\r\n\r\nhello";
  Seen seen;
  for (const char byte : answer) {
    ASSERT_TRUE(send_all(proxy_.get(), std::string(1, byte)));
    world_->until([&] { return true; });
    look(client_.get(), seen);
  }
  ASSERT_TRUE(world_->until([&] { return look(client_.get(), seen), seen.bytes == "hello"; }))
      << seen.bytes;
  expect_talk(*world_, client_.get(), proxy_.get());
}

TEST_F(UpstreamTest, WhatItRefusesIsNamed) {
  connect("example.test");
  EXPECT_EQ(seen_after("HTTP/1.1 403 Forbidden\r\n\r\nbecause").bytes, "");
  EXPECT_TRUE(world_->is_denied("connect", "example.test:80 (upstream proxy: it answered 403)"));
}

TEST_F(UpstreamTest, WhatIsNoAnswerIsRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"SSH-2.0-x\r\n\r\n", "its answer is no HTTP"},
      {"HTTP/1.1 20x OK\r\n\r\n", "its answer is no HTTP"},
      {std::string(Tunnel::kMostHeadBytes + 1, 'a'), "too long an answer"}};
  for (const auto& [answer, why] : cases) {
    connect("example.test");
    EXPECT_EQ(seen_after(answer).bytes, "");
    EXPECT_TRUE(world_->is_denied("connect", "example.test:80 (upstream proxy: " + why + ")"));
  }
  connect("example.test");
  proxy_.reset();
  Seen seen;
  EXPECT_TRUE(world_->until([&] { return look(client_.get(), seen), seen.is_reset; }));
}

}  // namespace
}  // namespace sbx::test
