// SPDX-License-Identifier: Apache-2.0
// Connector: errands of this process's own calls, a process each.
#include "connect/connector.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "connect/sockets.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

using test::unix_listener;
using test::unix_socket;
using Step = Connector::Step;

struct Told {
  std::uint64_t id;
  Step step;
  int error;
  friend bool operator==(const Told&, const Told&) = default;
};

class ConnectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // where Yama asks
    auto made = Connector::create(peers_, [this](std::uint64_t id) { return !gone_.contains(id); });
    ASSERT_TRUE(made.ok());
    connector_ = std::move(made).value();
  }

  ConnectCall call(std::uint64_t id, const OwnedFd& fd, const test::UnixAddress& address) {
    return {id, gettid(), fd.get(), reinterpret_cast<std::uint64_t>(&address.address),
            address.length};
  }

  // Until so many steps have been told; `then` says how each goes on.
  void run(std::size_t count, const std::function<void(Errand&, Step, int)>& then) {
    const auto until = Connector::Clock::now() + std::chrono::seconds(60);
    while (told_.size() < count && Connector::Clock::now() < until) {
      pollfd waiting{connector_->poll_fd(), POLLIN, 0};
      poll(&waiting, 1, 10);
      connector_->step([&](Errand& errand, Step step, int error) {
        told_.push_back({errand.call.id, step, error});
        then(errand, step, error);
      });
    }
  }
  // Straight through.
  void run(std::size_t count) {
    run(count, [this](Errand& errand, Step step, int error) {
      if (error == 0 && step == Step::kLook) connector_->go_on(errand, Step::kConnect);
    });
  }

  const test::TempDir directory_;
  UnixPeers peers_{{}, {}};
  std::set<std::uint64_t> gone_;
  std::unique_ptr<Connector> connector_;
  std::vector<Told> told_;
};

TEST_F(ConnectorTest, LooksAndConnectsOnTheCallersOwnSocket) {
  const OwnedFd listener = unix_listener(directory_.at("s"));
  const OwnedFd client = unix_socket();
  const auto address = test::unix_address(directory_.at("s"));
  ASSERT_EQ(connector_->start(call(7, client, address)), 0);
  EXPECT_TRUE(connector_->deadline());  // a look is given up at some time
  run(2);
  EXPECT_EQ(told_, (std::vector<Told>{{7, Step::kLook, 0}, {7, Step::kConnect, 0}}));
  EXPECT_TRUE(test::has_client(listener));
  EXPECT_EQ(write(client.get(), "x", 1), 1);
  EXPECT_FALSE(connector_->deadline());
}

TEST_F(ConnectorTest, AnErrandWithAnErrorIsOver) {
  const OwnedFd client = unix_socket();
  const auto address = test::unix_address(directory_.at("missing"));
  ASSERT_EQ(connector_->start(call(7, client, address)), 0);
  run(1);
  EXPECT_EQ(told_, (std::vector<Told>{{7, Step::kLook, ENOENT}}));
  EXPECT_EQ(connector_->find(7), nullptr);
}

OwnedFd tcp_socket_at(sockaddr_in& address) {
  OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socklen_t size = sizeof address;
  auto* const raw = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd.get(), raw, size) != 0 || getsockname(fd.get(), raw, &size) != 0) fd.reset();
  return fd;
}

// Whoever is refused closes the socket and takes another one with the same address.
TEST_F(ConnectorTest, WhoIsAnsweredIsAloneWithItsSocket) {
  sockaddr_in nowhere{};
  nowhere.sin_family = AF_INET;
  nowhere.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in own = nowhere;
  const OwnedFd does_not_listen = tcp_socket_at(nowhere);
  OwnedFd client = tcp_socket_at(own);
  for (const bool is_ours : {false, true}) {
    constexpr int kRounds = 200;
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(client.is_open()) << i << (is_ours ? " refused by us" : " refused by the kernel");
      ASSERT_EQ(connector_->start({7, gettid(), client.get(),
                                   reinterpret_cast<std::uint64_t>(&nowhere), sizeof nowhere}),
                0);
      told_.clear();
      run(2, [&](Errand& errand, Step step, int error) {
        if (error != 0 || step != Step::kLook) return;
        is_ours ? connector_->refuse(errand, EACCES) : connector_->go_on(errand, Step::kConnect);
      });
      ASSERT_EQ(told_.back(),
                (is_ours ? Told{7, Step::kRefuse, EACCES} : Told{7, Step::kConnect, ECONNREFUSED}));
      client.reset();
      client = tcp_socket_at(own);
    }
  }
}

TEST_F(ConnectorTest, AnErrandIsFoundBetweenItsSteps) {
  const OwnedFd listener = unix_listener(directory_.at("s"));
  const OwnedFd client = unix_socket();
  const auto address = test::unix_address(directory_.at("s"));
  ASSERT_EQ(connector_->start(call(7, client, address)), 0);
  run(1, [](Errand&, Step, int) {});
  Errand* const errand = connector_->find(7);
  ASSERT_NE(errand, nullptr);
  EXPECT_EQ(connector_->find(8), nullptr);
  connector_->end(*errand);
  EXPECT_EQ(connector_->find(7), nullptr);
  EXPECT_FALSE(test::has_client(listener));
}

TEST_F(ConnectorTest, FindsOwnersOneAfterTheOther) {
  const std::string name = std::string(1, '\0') + directory_.path();
  const OwnedFd listener = unix_listener(name);
  const auto address = test::unix_address(name);
  std::vector<OwnedFd> clients;
  for (std::uint64_t id = 0; id < 5; ++id) {
    clients.push_back(unix_socket());
    ASSERT_EQ(connector_->start(call(id, clients.back(), address)), 0);
  }
  std::map<std::uint64_t, UnixPeers::Owner> owners;
  run(10, [&](Errand& errand, Step step, int error) {
    ASSERT_EQ(error, 0);
    if (step == Step::kLook) return connector_->go_on(errand, Step::kFindOwner);
    owners[errand.call.id] = errand.owner.value_or(UnixPeers::Owner::kNobody);
    connector_->end(errand);
  });
  EXPECT_EQ(owners.size(), 5U);
  for (const auto& [id, owner] : owners) EXPECT_EQ(owner, UnixPeers::Owner::kInside) << id;
}

TEST_F(ConnectorTest, BeginsAgainWithTheSameCall) {
  const OwnedFd listener = unix_listener(directory_.at("s"));
  const OwnedFd client = unix_socket();
  const auto address = test::unix_address(directory_.at("s"));
  ASSERT_EQ(connector_->start(call(7, client, address)), 0);
  bool is_second = false;
  run(3, [&](Errand& errand, Step step, int) {
    if (step == Step::kConnect) return;
    if (std::exchange(is_second, true)) return connector_->go_on(errand, Step::kConnect);
    EXPECT_EQ(connector_->again(errand), 0);
  });
  EXPECT_EQ(told_,
            (std::vector<Told>{{7, Step::kLook, 0}, {7, Step::kLook, 0}, {7, Step::kConnect, 0}}));
}

TEST_F(ConnectorTest, CallsBeyondItsProcessesWaitForOne) {
  constexpr std::uint64_t kCalls = 100;
  const OwnedFd listener = unix_listener(directory_.at("s"));
  ASSERT_EQ(listen(listener.get(), 200), 0);
  const auto address = test::unix_address(directory_.at("s"));
  std::vector<OwnedFd> clients;
  for (std::uint64_t id = 0; id < kCalls; ++id) {
    clients.push_back(unix_socket());
    ASSERT_EQ(connector_->start(call(id, clients.back(), address)), 0);
  }
  run(2 * kCalls);
  std::set<std::uint64_t> connected;
  for (const Told& told : told_) {
    EXPECT_EQ(told.error, 0);
    if (told.step == Step::kConnect) connected.insert(told.id);
  }
  EXPECT_EQ(connected.size(), kCalls);
}

TEST_F(ConnectorTest, TooManyWaitingCallsAreRefusedUnlessTheirCallersHaveGone) {
  const OwnedFd client = unix_socket();
  const auto address = test::unix_address(directory_.at("missing"));
  std::uint64_t id = 0;
  int error = 0;
  for (; id < 2000 && error == 0; ++id) error = connector_->start(call(id, client, address));
  EXPECT_EQ(error, EAGAIN);
  EXPECT_EQ(id, 64U + 512U + 1U);
  for (std::uint64_t old = 100; old < 110; ++old) gone_.insert(old);
  EXPECT_EQ(connector_->start(call(id, client, address)), 0);
}

// A socket whose other side takes nobody: the connect waits, and so does its process alone.
TEST_F(ConnectorTest, AConnectThatWaitsKeepsNobodyWaiting) {
  const OwnedFd full = unix_listener(directory_.at("full"));
  ASSERT_EQ(listen(full.get(), 0), 0);
  const OwnedFd first = unix_socket();
  const auto at_full = test::unix_address(directory_.at("full"));
  ASSERT_EQ(connect(first.get(), at_full.get(), at_full.length), 0);
  const OwnedFd listener = unix_listener(directory_.at("s"));
  const auto address = test::unix_address(directory_.at("s"));
  const OwnedFd waits = unix_socket();
  const OwnedFd client = unix_socket();
  ASSERT_EQ(connector_->start(call(1, waits, at_full)), 0);
  run(1);
  ASSERT_EQ(connector_->start(call(2, client, address)), 0);
  run(3);
  EXPECT_EQ(told_.back(), (Told{2, Step::kConnect, 0}));
  connector_.reset();  // waits for nobody either
}

}  // namespace
}  // namespace sbx
