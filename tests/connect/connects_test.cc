// SPDX-License-Identifier: Apache-2.0
// Connects: a child's connect(2), decided and made here.
#include "connect/connects.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connect/sockets.h"
#include "support/temp_dir.h"
#include "trace/filtered.h"

namespace sbx {
namespace {

using test::Filtered;
using test::unix_listener;
using test::unix_socket;

int try_tcp(const Endpoint& destination) {
  const OwnedFd client(
      socket(destination.address.is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress address = to_sockaddr(destination);
  return connect(client.get(), address.get(), address.length) == 0 ? 0 : errno;
}

int try_unix(const std::string& name) {
  const OwnedFd client = unix_socket();
  const test::UnixAddress address = test::unix_address(name);
  return connect(client.get(), address.get(), address.length) == 0 ? 0 : errno;
}

// The child stays in this network; the rules say what it is taken for.
class ConnectsTest : public ::testing::Test {
 protected:
  using Ask = Connects::Ask;

  // What the child's work returns.
  int serve(const ConnectRules& rules, const std::function<int()>& work) {
    Refusals refusals(denials_);
    int events = -1;
    const auto no_gateway = [](OwnedFd) -> Gateway* { return nullptr; };
    Connects connects(rules, gateway_.get(), no_gateway, refusals, denials_, ask_, [&](int fd) {
      events = fd;
      return true;
    });
    refusals.mediate_connect([&](const sys::SeccompNotif& call) { return connects.begin(call); });
    Filtered child({SYS_connect}, [&] {
      test::set_own_name("prober");
      return work();
    });
    OwnedFd listener = child.take_listener();
    EXPECT_TRUE(listener.is_open()) << "no seccomp listener can be had here";
    if (!listener.is_open()) return -1;
    refusals.set_listener(std::move(listener));
    return child.serve(
        [&] {
          return std::vector<int>{refusals.listener(), events};
        },
        [&] {
          refusals.answer();
          connects.step();
        });
  }
  void make_gateway(int host_port) {
    GatewayOptions options;
    options.mode = NetworkMode::kAllowlist;
    options.host_ports = {host_port};
    gateway_ = std::move(Gateway::create(options, denials_)).value();
  }
  // The only entry.
  Denial denial() const {
    const auto entries = denials_.entries();
    EXPECT_EQ(entries.size(), 1U);
    return entries.empty() ? Denial{} : entries[0];
  }

  const test::TempDir directory_;
  DenialLedger denials_;
  std::unique_ptr<Gateway> gateway_;
  Ask ask_ = [](const InsideRequest&, const Connects::Answer&) { return EPIPE; };
};

TEST_F(ConnectsTest, InTheHostsNetworkEveryDestinationIsAllowed) {
  Endpoint destination;
  const OwnedFd listener = test::tcp_listener(destination);
  ConnectRules rules;
  rules.mode = NetworkMode::kOpen;
  EXPECT_EQ(serve(rules, [&] { return try_tcp(destination); }), 0);
  EXPECT_TRUE(test::has_client(listener));
  EXPECT_TRUE(denials_.entries().empty());
}

TEST_F(ConnectsTest, WithoutANetworkOfItsOwnARefusedDestinationIsNotConnectedTo) {
  Endpoint destination;
  const OwnedFd listener = test::tcp_listener(destination);
  EXPECT_EQ(serve({},
                  [&] {
                    try_tcp(destination);
                    return try_tcp(destination);
                  }),
            EACCES);
  EXPECT_FALSE(test::has_client(listener));
  EXPECT_EQ(denial(),
            (Denial{Refuser::kNetwork, "connect", endpoint_text(destination), 2, "prober", ""}));
}

TEST_F(ConnectsTest, DestinationsBeyondTheBoundAreCountedAsOthers) {
  EXPECT_EQ(serve({},
                  [] {
                    int error = 0;
                    for (int port = 1; port <= 300; ++port) {
                      error = try_tcp({ipv4(127, 0, 0, 1), static_cast<std::uint16_t>(port)});
                    }
                    return error;
                  }),
            EACCES);
  const auto entries = denials_.entries();
  ASSERT_EQ(entries.size(), 257U);
  EXPECT_EQ(entries[128].target, "127.0.0.1:129");
  EXPECT_EQ(entries[128].count, 1U);
  EXPECT_EQ(entries[255].target, "127.0.0.1:256");
  EXPECT_EQ(entries[255].count, 1U);
  EXPECT_EQ(entries[256], (Denial{Refuser::kNetwork, "connect", "(others)", 44, "", ""}));
}

TEST_F(ConnectsTest, ASocketOfTheHostIsRefusedWithTheGrantThatListsIt) {
  const OwnedFd listener = unix_listener(directory_.at("s"));
  EXPECT_EQ(serve({},
                  [&] {
                    if (chdir(directory_.path().c_str()) != 0) return 0;
                    return try_unix("./s");
                  }),
            EACCES);
  EXPECT_FALSE(test::has_client(listener));
  EXPECT_EQ(denial(), (Denial{Refuser::kNetwork, "connect", "./s", 1, "prober",
                              "network.unix_sockets += [\"" + directory_.at("s") + "\"]"}));
}

TEST_F(ConnectsTest, AListedSocketIsConnectedTo) {
  const OwnedFd listener = unix_listener(directory_.at("s"));
  ConnectRules rules;
  rules.listed = {directory_.at("s")};
  EXPECT_EQ(serve(rules, [&] { return try_unix(directory_.at("s")); }), 0);
  EXPECT_TRUE(test::has_client(listener));
  EXPECT_TRUE(denials_.entries().empty());
}

TEST_F(ConnectsTest, ASocketThatSomebodyInsideHoldsIsConnectedTo) {
  const OwnedFd listener = unix_listener(directory_.at("s"));
  ConnectRules rules;
  rules.own_pids = true;  // this test is in the child's pid namespace
  EXPECT_EQ(serve(rules, [&] { return try_unix(directory_.at("s")); }), 0);
  EXPECT_TRUE(test::has_client(listener));
}

TEST_F(ConnectsTest, AnAbstractNameOfTheHostIsRefused) {
  const std::string name = std::string(1, '\0') + directory_.path();
  const OwnedFd listener = unix_listener(name);
  EXPECT_EQ(serve({}, [&] { return try_unix(name); }), ECONNREFUSED);
  EXPECT_FALSE(test::has_client(listener));
  EXPECT_EQ(denial(),
            (Denial{Refuser::kNetwork, "connect", "abstract Unix socket", 1, "prober", ""}));
}

TEST_F(ConnectsTest, AnAbstractNameBelongsToTheNetworkNamespace) {
  const std::string name = std::string(1, '\0') + directory_.path();
  const OwnedFd listener = unix_listener(name);
  ConnectRules rules;
  rules.own_network = true;
  EXPECT_EQ(serve(rules, [&] { return try_unix(name); }), 0);
  EXPECT_TRUE(test::has_client(listener));
}

TEST_F(ConnectsTest, ANetlinkSocketIsNotConnectedWithOurRights) {
  EXPECT_EQ(serve({},
                  [] {
                    const OwnedFd client(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
                    sockaddr_nl address{};
                    address.nl_family = AF_NETLINK;
                    const auto* const to = reinterpret_cast<const sockaddr*>(&address);
                    return connect(client.get(), to, sizeof address) == 0 ? 0 : errno;
                  }),
            EPERM);
}

TEST_F(ConnectsTest, ALengthThatNoAddressHasIsRefusedAtOnce) {
  EXPECT_EQ(serve({},
                  [] {
                    const OwnedFd client = unix_socket();
                    const sockaddr_storage address{};
                    return syscall(SYS_connect, client.get(), &address, 4096) == 0 ? 0 : errno;
                  }),
            EINVAL);
}

TEST_F(ConnectsTest, APortOfTheHostWaitsForAListenerInside) {
  Endpoint destination;
  const OwnedFd listener = test::tcp_listener(destination);
  make_gateway(destination.port);
  ConnectRules rules;
  rules.mode = NetworkMode::kAllowlist;
  rules.own_network = true;
  // Nobody makes one.
  EXPECT_EQ(serve(rules, [&] { return try_tcp(destination); }), ECONNREFUSED);
  EXPECT_FALSE(test::has_client(listener));
  // A server inside holds the port: on its own loopback it is what was meant.
  std::optional<InsideRequest> asked;
  ask_ = [&](const InsideRequest& request, const Connects::Answer& answer) {
    asked = request;
    answer(OwnedFd(), EADDRINUSE);
    return 0;
  };
  EXPECT_EQ(serve(rules, [&] { return try_tcp(destination); }), 0);
  EXPECT_TRUE(test::has_client(listener));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->kind, InsideRequest::Kind::kListen);
  EXPECT_EQ(asked->port, destination.port);
}

TEST_F(ConnectsTest, AModeWithoutNamesAsksForTheirSocketBesideAGatewayToo) {
  make_gateway(1);
  const auto asked = [this](NetworkMode mode) {
    ConnectRules rules;
    rules.mode = mode;
    rules.own_network = true;
    std::optional<InsideRequest> request;
    ask_ = [&](const InsideRequest& wanted, const Connects::Answer& answer) {
      request = wanted;
      answer(OwnedFd(), EADDRINUSE);
      return 0;
    };
    EXPECT_EQ(serve(rules,
                    [] {
                      const OwnedFd client(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
                      const SocketAddress address = to_sockaddr({ipv4(127, 0, 0, 1), 53});
                      return connect(client.get(), address.get(), address.length);
                    }),
              0);
    return request;
  };
  const auto request = asked(NetworkMode::kNone);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, InsideRequest::Kind::kDns);
  EXPECT_FALSE(asked(NetworkMode::kAllowlist));
}

TEST_F(ConnectsTest, WhatTheGatewayWouldNotRelayIsRefused) {
  make_gateway(1);
  ConnectRules rules;
  rules.mode = NetworkMode::kAllowlist;
  rules.own_network = true;
  EXPECT_EQ(serve(rules, [] { return try_tcp({ipv4(192, 0, 2, 1), 81}); }), ECONNREFUSED);
  EXPECT_EQ(denial(), (Denial{Refuser::kNetwork, "connect", "192.0.2.1:81", 1, "prober",
                              "network.allow += [\"192.0.2.1:81\"]"}));
}

TEST_F(ConnectsTest, ThePortOfNamesIsTheResolversAtItsOwnAddressAlone) {
  make_gateway(1);
  ConnectRules rules;
  rules.mode = NetworkMode::kAllowlist;
  rules.own_network = true;
  serve(rules, [] { return try_tcp({ipv4(127, 0, 0, 53), 53}); });
  EXPECT_TRUE(denials_.entries().empty());
  EXPECT_EQ(serve(rules, [] { return try_tcp({ipv4(192, 0, 2, 1), 53}); }), ECONNREFUSED);
  // No entry would lead there.
  EXPECT_EQ(denial(),
            (Denial{Refuser::kNetwork, "connect",
                    "192.0.2.1:53: port 53 is the sandbox's own resolver's", 1, "prober", ""}));
}

}  // namespace
}  // namespace sbx
