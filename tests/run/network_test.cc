// SPDX-License-Identifier: Apache-2.0
// The network of a run without a run: made-up plans, and a socket that stands for PID 1.
#include "run/network.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sbx {
namespace {

class NetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(loop_.open().ok());
    policy_.sandbox.network.mode = NetworkMode::kNone;
    plan_.clone_flags = CLONE_NEWNET;
  }

  Result<std::unique_ptr<RunNetwork>> create() {
    return RunNetwork::create(policy_, plan_, "", loop_, denials_);
  }
  // Of the requests that PID 1 would get.
  std::size_t asked(int pid_one) const {
    std::size_t count = 0;
    InsideRequest request;
    while (recv(pid_one, &request, sizeof request, MSG_DONTWAIT) == sizeof request) {
      EXPECT_EQ(request.kind, InsideRequest::Kind::kStream);
      ++count;
    }
    return count;
  }
  static bool can_connect(int port) {
    const OwnedFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  Loop loop_;
  DenialLedger denials_;
  Policy policy_;
  LaunchPlan plan_;
};

TEST_F(NetworkTest, ThereIsNoneWhereNothingIsMediatedOrReachable) {
  Result<std::unique_ptr<RunNetwork>> made = create();
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value(), nullptr);
}

TEST_F(NetworkTest, MediatedConnectsNeedOneWithoutAGateway) {
  plan_.mediates_connect = true;
  Result<std::unique_ptr<RunNetwork>> made = create();
  ASSERT_TRUE(made.ok());
  ASSERT_NE(made.value(), nullptr);
  EXPECT_FALSE(made.value()->has_unsent());
  EXPECT_FALSE(made.value()->deadline().has_value());
  EXPECT_TRUE(made.value()->connections().empty());
}

TEST_F(NetworkTest, APublishedPortListensOnTheHostUntilTheRunEnds) {
  policy_.run.publish = {{0, 8080}};
  Result<std::unique_ptr<RunNetwork>> made = create();
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::vector<Published> published = made.value()->published();
  ASSERT_EQ(published.size(), 1U);
  EXPECT_EQ(published[0].port, 8080);
  EXPECT_TRUE(can_connect(published[0].host_port));
  made.value().reset();
  EXPECT_FALSE(can_connect(published[0].host_port));
}

TEST_F(NetworkTest, APortThatIsTakenIsTheFlagsFault) {
  policy_.run.publish = {{0, 8080}};
  Result<std::unique_ptr<RunNetwork>> first = create();
  ASSERT_TRUE(first.ok());
  policy_.run.publish = {{first.value()->published()[0].host_port, 8080}};
  const Result<std::unique_ptr<RunNetwork>> second = create();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kBadFlag);
  EXPECT_EQ(second.error().where, "--publish");
}

TEST_F(NetworkTest, NothingIsPublishedFromTheHostsOwnNetwork) {
  policy_.run.publish = {{0, 8080}};
  plan_.clone_flags = 0;
  const Result<std::unique_ptr<RunNetwork>> made = create();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kBadFlag);
}

TEST_F(NetworkTest, PidOneIsAskedForSocketsOnceItRunsAndNeverOnceItHasGone) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const OwnedFd ours(ends[0]);
  const OwnedFd pid_one(ends[1]);
  policy_.run.publish = {{0, 8080}};
  Result<std::unique_ptr<RunNetwork>> made = create();
  ASSERT_TRUE(made.ok());
  Refusals refusals(denials_);
  made.value()->attach(ours.get(), refusals);
  EXPECT_GT(asked(pid_one.get()), 0U);
  // Its answer makes a connection possible, and another one is asked for in its place.
  Received answer{ReportTag::kAnswer, OwnedFd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0))};
  made.value()->take(answer);
  EXPECT_FALSE(answer.fd.is_open());
  ASSERT_TRUE(can_connect(made.value()->published()[0].host_port));
  for (int i = 0; i < 200 && loop_.step(10) == 0; ++i) {
    if (const std::size_t count = asked(pid_one.get()); count != 0) {
      EXPECT_EQ(count, 1U);
      break;
    }
  }
  made.value()->detach();
  ASSERT_TRUE(can_connect(made.value()->published()[0].host_port));
  for (int i = 0; i < 5; ++i) loop_.step(1);
  EXPECT_EQ(asked(pid_one.get()), 0U);
}

TEST_F(NetworkTest, AnAnswerThatNobodyAskedForIsDropped) {
  plan_.mediates_connect = true;
  Result<std::unique_ptr<RunNetwork>> made = create();
  ASSERT_TRUE(made.ok());
  Received answer{ReportTag::kAnswer, OwnedFd(dup(0))};
  made.value()->take(answer);
  made.value()->step();
}

}  // namespace
}  // namespace sbx
