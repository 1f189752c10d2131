// SPDX-License-Identifier: Apache-2.0
// An approval is for exactly one request, once, for ten minutes.
#include "session/approvals.h"

#include <gtest/gtest.h>

namespace sbx {
namespace {

struct Given {
  Policy policy;
  Request request;
  std::string cwd = "/work";
  Judgement judgement;

  Given() {
    policy.workspace = "/work";
    request.command = "rm -rf /data";
    judgement.findings = {
        {"destructive.rm-outside", Verdict::kAsk, "", {7, 12}, "rm", "/data", ""}};
  }
  std::string digest() const { return approval_digest(policy, request, cwd, judgement); }
};

TEST(ApprovalDigest, IsTheSameForTheSameRequest) {
  EXPECT_EQ(Given().digest(), Given().digest());
  EXPECT_EQ(Given().digest().size(), 64U);
}

TEST(ApprovalDigest, ChangesWithEverythingThatWasApproved) {
  const std::string digest = Given().digest();
  const auto differs = [&](auto change) {
    Given given;
    change(given);
    return given.digest() != digest;
  };
  EXPECT_TRUE(differs([](Given& g) { g.request.command = "rm -rf /data2"; }));
  EXPECT_TRUE(differs([](Given& g) { g.request.argv = {"rm", "-rf", "/data"}; }));
  EXPECT_TRUE(differs([](Given& g) { g.cwd = "/"; }));
  EXPECT_TRUE(differs([](Given& g) { g.request.env["A"] = "1"; }));
  EXPECT_TRUE(differs([](Given& g) { g.request.stdin_text = ""; }));
  EXPECT_TRUE(differs([](Given& g) { g.request.files.push_back({"a", "b", {}}); }));
  EXPECT_TRUE(differs([](Given& g) { g.request.network = true; }));
  EXPECT_TRUE(differs([](Given& g) { g.policy.profile.name = "other"; }));
  EXPECT_TRUE(differs([](Given& g) {
    g.policy.profile.filesystem.roots.push_back({"/data", Access::kReadWrite, false, ""});
  }));
  EXPECT_TRUE(differs([](Given& g) { g.policy.profile.network.mode = NetworkMode::kOpen; }));
  EXPECT_TRUE(differs([](Given& g) { g.judgement.findings.front().id = "other"; }));
}

TEST(ApprovalDigest, TellsWhereOneValueEndsAndTheNextBegins) {
  Given one;
  one.request.argv = {"a", "bc"};
  Given two;
  two.request.argv = {"ab", "c"};
  EXPECT_NE(one.digest(), two.digest());
}

TEST(Approvals, AreGoodOnce) {
  Approvals approvals;
  approvals.grant("x");
  EXPECT_FALSE(approvals.take("y"));
  EXPECT_TRUE(approvals.take("x"));
  EXPECT_FALSE(approvals.take("x"));
}

TEST(Approvals, EndAfterTenMinutes) {
  Approvals::Clock::time_point now{};
  Approvals approvals([&] { return now; });
  approvals.grant("x");
  now += Approvals::kLifetime - std::chrono::seconds(1);
  EXPECT_TRUE(approvals.take("x"));
  approvals.grant("x");
  now += Approvals::kLifetime;
  EXPECT_FALSE(approvals.take("x"));
}

TEST(Approvals, KeepABoundedNumber) {
  Approvals::Clock::time_point now{};
  Approvals approvals([&] { return now; });
  for (std::size_t i = 0; i <= Approvals::kMaxOpen; ++i) {
    now += std::chrono::milliseconds(1);
    approvals.grant(std::to_string(i));
  }
  EXPECT_FALSE(approvals.take("0"));
  EXPECT_TRUE(approvals.take("1"));
}

}  // namespace
}  // namespace sbx
