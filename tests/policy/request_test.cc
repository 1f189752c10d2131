// SPDX-License-Identifier: Apache-2.0
// A request held against a policy: what it may lower, raise, and never gets.
#include "policy/request.h"

#include <gtest/gtest.h>

#include "policy/environment.h"

namespace sbx {
namespace {

Policy sample_policy() {
  Policy policy;
  policy.sandbox.workspace = "/work";
  policy.run.limits.timeout_ms = 120'000;
  policy.run.ceilings.timeout_ms = 600'000;
  policy.run.ceilings.output_kb = 1024;
  policy.run.output_bytes = 100 * 1024;
  policy.sandbox.file_bytes = 256 * 1024;
  return policy;
}

Request sample_request() {
  Request request;
  request.command = "true";
  return request;
}

Result<SharedPolicy> apply_to(const Policy& policy, const Request& request) {
  return apply_request(std::make_shared<const Policy>(policy), request);
}

Result<SharedPolicy> as_task(const SharedPolicy& policy, const Request& request) {
  return apply_request(policy, request, TimeLimit::kManaged);
}

TEST(ApplyRequest, IsTheSamePolicyWhereNothingIsAsked) {
  const auto policy = std::make_shared<const Policy>(sample_policy());
  Request request = sample_request();
  request.network = false;  // there is none
  const auto applied = apply_request(policy, request);
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied.value(), policy);
}

TEST(ApplyRequest, ATaskHasNoTimeLimitButItsOwn) {
  const auto policy = std::make_shared<const Policy>(sample_policy());
  Request request = sample_request();
  EXPECT_FALSE(as_task(policy, request).value()->run.limits.timeout_ms);
  EXPECT_EQ(policy->run.limits.timeout_ms, 120'000);
  request.timeout_ms = 5;
  EXPECT_EQ(as_task(policy, request).value()->run.limits.timeout_ms, 5);
}

// C3
TEST(ApplyRequest, ATaskHasTheTimeLimitOfTheManagedPolicyWhichErrorsName) {
  Policy managed = sample_policy();
  managed.run.limits.timeout_ms = 300;
  managed.run.ceilings.timeout_ms = 300;
  managed.run.managed_limits["timeout_ms"] = {300, "/etc/sbx/managed.d/a.json"};
  const auto policy = std::make_shared<const Policy>(managed);
  Request request;
  EXPECT_EQ(as_task(policy, request).value()->run.limits.timeout_ms, 300);
  EXPECT_FALSE(apply_request(policy, request, TimeLimit::kNone).value()->run.limits.timeout_ms);
  request.timeout_ms = 301;
  const auto refused = as_task(policy, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("/etc/sbx/managed.d/a.json"), std::string::npos);
}

TEST(ApplyRequest, TheOperatorsOwnLimitsAreHeldByTheManagedPolicyAlone) {
  Request request = sample_request();
  request.above_ceilings = true;
  request.timeout_ms = 7'200'000;
  EXPECT_EQ(apply_to(sample_policy(), request).value()->run.limits.timeout_ms, 7'200'000);
  Policy managed = sample_policy();
  managed.run.managed_limits["timeout_ms"] = {3'600'000, "/etc/sbx/managed.d/a.json"};
  const auto refused = apply_to(managed, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("of 3600000, which /etc/sbx/managed.d/a.json sets"),
            std::string::npos);
  request.timeout_ms = 3'600'000;
  EXPECT_EQ(apply_to(managed, request).value()->run.limits.timeout_ms, 3'600'000);
}

TEST(ApplyRequest, LowersEveryLimit) {
  Request request = sample_request();
  request.timeout_ms = 1;
  request.output_kb = 1;
  request.file_kb = 1;
  const auto applied = apply_to(sample_policy(), request);
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied.value()->run.limits.timeout_ms, 1);
  EXPECT_EQ(applied.value()->run.output_bytes, 1024);
  EXPECT_EQ(applied.value()->sandbox.file_bytes, 1024);
}

TEST(ApplyRequest, RaisesUpToTheCeilingAndNoFurther) {
  Request request = sample_request();
  request.timeout_ms = 600'000;
  request.output_kb = 1024;
  const auto raised = apply_to(sample_policy(), request);
  ASSERT_TRUE(raised.ok());
  EXPECT_EQ(raised.value()->run.limits.timeout_ms, 600'000);
  EXPECT_EQ(raised.value()->run.output_bytes, 1024 * 1024);

  request.timeout_ms = 600'001;
  const auto refused = apply_to(sample_policy(), request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kAboveCeiling);
  EXPECT_EQ(refused.error().where, "/timeout_ms");
  EXPECT_EQ(refused.error().message, "timeout_ms 600001 is above the ceiling of 600000");
  EXPECT_NE(refused.error().hint.find("ceilings.timeout_ms"), std::string::npos);
}

TEST(ApplyRequest, TakesTheLimitForAnAbsentCeiling) {
  Request request = sample_request();
  request.file_kb = 256;
  EXPECT_TRUE(apply_to(sample_policy(), request).ok());
  request.file_kb = 257;
  const auto refused = apply_to(sample_policy(), request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kAboveCeiling);
  EXPECT_EQ(refused.error().message, "file_kb 257 is above the ceiling of 256");
}

TEST(ApplyRequest, MayLimitWhatHasNoLimit) {
  Policy policy = sample_policy();
  policy.sandbox.file_bytes.reset();
  Request request = sample_request();
  request.file_kb = 5000;
  const auto applied = apply_to(policy, request);
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied.value()->sandbox.file_bytes, 5000 * 1024);
}

TEST(ApplyRequest, KeepsALimitThatLiesAboveItsCeiling) {
  Policy policy = sample_policy();
  policy.run.ceilings.timeout_ms = 1000;
  Request request = sample_request();
  request.timeout_ms = 120'000;
  EXPECT_TRUE(apply_to(policy, request).ok());
}

// C4
TEST(ApplyRequest, RefusesANetworkThatIsNotGranted) {
  Request request = sample_request();
  request.network = true;
  const auto refused = apply_to(sample_policy(), request);
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(is_network_refusal(refused.error()));
  EXPECT_NE(refused.error().hint.find("network.mode"), std::string::npos);

  Policy granting = sample_policy();
  granting.sandbox.network.mode = NetworkMode::kAllowlist;
  const auto granted = apply_to(granting, request);
  ASSERT_TRUE(granted.ok());
  EXPECT_EQ(granted.value()->sandbox.network.mode, NetworkMode::kAllowlist);
}

TEST(ApplyRequest, TakesTheNetworkAwayWhereTheRequestWantsNone) {
  Policy policy = sample_policy();
  policy.sandbox.network.mode = NetworkMode::kOpen;
  Request request = sample_request();
  request.network = false;
  const auto applied = apply_to(policy, request);
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(applied.value()->sandbox.network.mode, NetworkMode::kNone);
  EXPECT_TRUE(applied.value()->sandbox.isolation.namespaces.has(Layer::kNet));
}

TEST(ApplyRequest, RefusesVariablesThatTheProfileDoesNotGrant) {
  Request request = sample_request();
  request.env = {{"A", "1"}};
  const auto refused = apply_to(sample_policy(), request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kNotGranted);
  EXPECT_EQ(refused.error().where, "/env");
  EXPECT_NE(refused.error().hint.find("environment.request"), std::string::npos);
  EXPECT_FALSE(is_network_refusal(refused.error()));
}

// E6
TEST(ApplyRequest, NeverSetsWhatChangesOtherPrograms) {
  Policy policy = sample_policy();
  policy.run.environment.request = true;
  for (const char* name : {"LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "NODE_OPTIONS"}) {
    Request request = sample_request();
    request.env = {{name, "x"}};
    const auto refused = apply_to(policy, request);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kNotGranted);
    EXPECT_EQ(refused.error().where, std::string("/env/") + name);
  }
}

TEST(ApplyRequest, RefusesADescriptionThatIsNone) {
  Request request = sample_request();
  request.description = std::string(16 << 10, 'a');
  EXPECT_TRUE(apply_to(sample_policy(), request).ok());
  *request.description += 'a';
  const auto refused = apply_to(sample_policy(), request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(refused.error().where, "/description");
}

TEST(ApplyRequest, RefusesVariablesThatAreNone) {
  Policy policy = sample_policy();
  policy.run.environment.request = true;
  const std::string nul("a\0b", 3);
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"", "x"}, {"A=B", "x"}, {nul, "x"}, {"A", nul}}) {
    Request request = sample_request();
    request.env = {{name, value}};
    const auto refused = apply_to(policy, request);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kBadValue);
  }
}

TEST(ApplyRequest, LetsTheOperatorsOwnVariablesWin) {
  Policy policy = sample_policy();
  policy.run.environment.request = true;
  policy.run.environment.set = {{"MODE", "operator"}};
  Request request = sample_request();
  request.env = {{"MODE", "caller"}, {"OTHER", "caller"}};
  const auto applied = apply_to(policy, request);
  ASSERT_TRUE(applied.ok());
  const Environment environment = make_environment(*applied.value(), {}, "user");
  EXPECT_EQ(environment.at("MODE"), "operator");
  EXPECT_EQ(environment.at("OTHER"), "caller");
}

TEST(ApplyRequest, RefusesACwdThatLeavesByDots) {
  Request request = sample_request();
  request.cwd = "a/../../b";
  const auto refused = apply_to(sample_policy(), request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kPathRefused);
  EXPECT_EQ(refused.error().where, "/cwd");
}

TEST(RequestCwd, LiesBelowTheWorkspaceUnlessItIsAbsolute) {
  Request request = sample_request();
  EXPECT_EQ(request_cwd(sample_policy(), request).value(), "/work");
  request.cwd = "a/./b/";
  EXPECT_EQ(request_cwd(sample_policy(), request).value(), "/work/a/b");
  request.cwd = "/usr";
  EXPECT_EQ(request_cwd(sample_policy(), request).value(), "/usr");
}

TEST(DisplayArguments, QuotesWhatAShellWouldSplit) {
  EXPECT_EQ(display_arguments({"ls", "-l", "a b", "it's", ""}), R"(ls -l 'a b' 'it'\''s' '')");
}

}  // namespace
}  // namespace sbx
