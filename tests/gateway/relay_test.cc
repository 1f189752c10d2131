// SPDX-License-Identifier: Apache-2.0
// What a relayed connection does to bytes, ends, resets and slow readers.
#include "gateway/relay.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <tuple>
#include <utility>

#include "gateway/world.h"

namespace sbx::test {
namespace {

class RelayTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!world_obstacle().empty()) GTEST_SKIP() << world_obstacle();
    signal(SIGPIPE, SIG_IGN);  // as sbx-run does
    world_ = std::make_unique<World>(std::vector<std::string>{"203.0.113.7:80"});
    world_->listen_inside({80});
    listener_ = outside_tcp(at("203.0.113.7", 80));
    auto pair = world_->connect_through(at("203.0.113.7", 80), listener_.get());
    client_ = std::move(pair.first);
    server_ = std::move(pair.second);
    ASSERT_TRUE(server_.is_open());
  }

  // How much `fd` takes until it stays full for a while.
  std::size_t fill(int fd, std::size_t most) {
    const std::string block(65536, 'x');
    std::size_t total = 0;
    for (int still = 0; still < 3 && total < most;) {
      const ssize_t count = send(fd, block.data(), block.size(), MSG_NOSIGNAL);
      if (count > 0) {
        total += static_cast<std::size_t>(count);
        still = 0;
      } else {
        world_->settle();
        ++still;
      }
    }
    return total;
  }

  std::unique_ptr<World> world_;
  OwnedFd listener_, client_, server_;
};

TEST_F(RelayTest, PassesOnTheEndOfOneDirectionAndKeepsTheOther) {
  ASSERT_TRUE(send_all(client_.get(), "question"));
  shutdown(client_.get(), SHUT_WR);
  Seen at_server, at_client;
  ASSERT_TRUE(world_->until([&] { return look(server_.get(), at_server), at_server.at_end; }));
  EXPECT_EQ(at_server.bytes, "question");
  ASSERT_TRUE(send_all(server_.get(), "answer"));
  ASSERT_TRUE(
      world_->until([&] { return look(client_.get(), at_client), at_client.bytes == "answer"; }));
  EXPECT_FALSE(at_client.at_end);
  shutdown(server_.get(), SHUT_WR);
  EXPECT_TRUE(world_->until([&] { return look(client_.get(), at_client), at_client.at_end; }));
}

TEST_F(RelayTest, PassesOnTheServersEndWhileTheClientStillSends) {
  shutdown(server_.get(), SHUT_WR);
  Seen at_server, at_client;
  ASSERT_TRUE(world_->until([&] { return look(client_.get(), at_client), at_client.at_end; }));
  ASSERT_TRUE(send_all(client_.get(), "late"));
  EXPECT_TRUE(
      world_->until([&] { return look(server_.get(), at_server), at_server.bytes == "late"; }));
}

TEST_F(RelayTest, PassesOnAResetOfTheServer) {
  reset_socket(std::move(server_));
  Seen seen;
  EXPECT_TRUE(world_->until([&] { return look(client_.get(), seen), seen.is_reset; }));
}

TEST_F(RelayTest, PassesOnAResetOfTheClient) {
  reset_socket(std::move(client_));
  Seen seen;
  EXPECT_TRUE(world_->until([&] { return look(server_.get(), seen), seen.is_reset; }));
}

TEST_F(RelayTest, CarriesALargeTransferUnchangedBothWays) {
  const std::size_t size = 24 << 20;
  std::string data(size, 0);
  std::uint32_t state = 1;
  for (char& c : data) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  for (const bool up : {true, false}) {
    const int from = up ? client_.get() : server_.get();
    const int to = up ? server_.get() : client_.get();
    std::size_t sent = 0;
    Seen seen;
    ASSERT_TRUE(world_->until([&] {
      while (sent < size) {
        const ssize_t count = send(from, data.data() + sent, size - sent, MSG_NOSIGNAL);
        if (count < 0) break;
        sent += static_cast<std::size_t>(count);
      }
      look(to, seen);
      return seen.bytes.size() >= size;
    })) << seen.bytes.size();
    EXPECT_TRUE(seen.bytes == data);
  }
}

TEST_F(RelayTest, MakesTheSenderWaitForASlowReaderAndLosesNothing) {
  const std::size_t most = 256 << 20;
  const std::size_t taken = fill(server_.get(), most);
  EXPECT_LT(taken, most) << "the relay must not take what nobody reads";
  // A stalled direction must neither spin nor stop the other one.
  pollfd ready{world_->gateway().poll_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 20), 0);
  Seen at_server;
  ASSERT_TRUE(send_all(client_.get(), "still here"));
  ASSERT_TRUE(world_->until(
      [&] { return look(server_.get(), at_server), at_server.bytes == "still here"; }));
  shutdown(server_.get(), SHUT_WR);
  std::size_t got = 0;
  bool ended = false;
  ASSERT_TRUE(world_->until([&] {
    Seen part;
    look(client_.get(), part);
    got += part.bytes.size();
    return ended = part.at_end;
  }));
  EXPECT_EQ(got, taken);
}

TEST_F(RelayTest, WhatOneConnectionLeftInAPipeGoesDownNoOther) {
  ASSERT_GT(fill(server_.get(), 256 << 20), 0U);  // of 'x', which nobody reads
  reset_socket(std::move(client_));
  Seen gone;
  ASSERT_TRUE(world_->until([&] { return look(server_.get(), gone), gone.is_reset; }));
  std::tie(client_, server_) = world_->connect_through(at("203.0.113.7", 80), listener_.get());
  ASSERT_TRUE(server_.is_open());
  const std::string data(8 << 20, 'y');
  std::size_t sent = 0;
  Seen seen;
  ASSERT_TRUE(world_->until([&] {
    while (sent < data.size()) {
      const ssize_t count = send(server_.get(), &data[sent], data.size() - sent, MSG_NOSIGNAL);
      if (count < 0) break;
      sent += static_cast<std::size_t>(count);
    }
    look(client_.get(), seen);
    return seen.bytes.size() >= data.size();
  }));
  EXPECT_TRUE(seen.bytes == data) << seen.bytes.find('x');
}

TEST_F(RelayTest, DoesNotSpinOnAPeerThatLeftWhileTheOtherDoesNotRead) {
  ASSERT_GT(fill(server_.get(), 256 << 20), 0U);
  shutdown(client_.get(), SHUT_WR);
  world_->settle();
  server_.reset();  // an end both ways, with data still on its way to the client
  world_->settle();
  pollfd ready{world_->gateway().poll_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&ready, 1, 20), 0);
  Seen seen;
  EXPECT_TRUE(world_->until([&] {
    seen.bytes.clear();
    look(client_.get(), seen);
    return seen.at_end;
  }));
}

TEST_F(RelayTest, HoldsAConnectionOnWhichNobodySpeaks) {
  world_->settle();
  Seen seen;
  look(client_.get(), seen);
  EXPECT_FALSE(seen.at_end || seen.is_reset);
}

}  // namespace
}  // namespace sbx::test
