// SPDX-License-Identifier: Apache-2.0
// A workspace and the shipped default policy over it, and sandboxes made of them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "profile/store.h"
#include "run/sandbox.h"
#include "support/temp_dir.h"

namespace sbx::test {

class MadeSandbox : public testing::Test {
 protected:
  void SetUp() override {
    Result<LoadedProfile> loaded = load_profile("default", ProfileSearch{});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    PolicyContext context;
    context.workspace = workspace_.path();
    Result<Policy> policy = make_policy(loaded.value().profile, OperatorFlags{}, context);
    ASSERT_TRUE(policy.ok()) << policy.error().message;
    policy_ = std::move(policy).value();
    environment_ = make_environment(policy_, inherited_, facts_.user_name);
  }

  SandboxInput input() { return {policy_, request_, facts_, inherited_, environment_}; }

  // For `sh -c command`, prepared. Null with a failure of the test.
  std::unique_ptr<Sandbox> sandbox(const std::string& command) {
    request_.command = command;
    Result<std::unique_ptr<Sandbox>> planned = plan_sandbox(input());
    EXPECT_TRUE(planned.ok()) << planned.error().message;
    if (!planned.ok()) return nullptr;
    const Status prepared = prepare_sandbox(input(), *planned.value());
    EXPECT_TRUE(prepared.ok()) << prepared.error().message;
    return std::move(planned).value();
  }

  TempDir workspace_;
  Policy policy_;
  Request request_;
  HostFacts facts_ = read_quick_facts(nullptr);
  Environment inherited_{{"PATH", "/usr/bin:/bin"}};
  Environment environment_;
};

}  // namespace sbx::test
