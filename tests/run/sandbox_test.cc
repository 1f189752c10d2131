// SPDX-License-Identifier: Apache-2.0
// Planned from the files that there are, prepared on the host, and nothing of it left.
#include "run/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "run/made_sandbox.h"

namespace sbx {
namespace {

class SandboxTest : public test::MadeSandbox {};

TEST_F(SandboxTest, ThePlanRunsTheCommandInTheWorkspace) {
  const std::unique_ptr<Sandbox> made = sandbox("echo hello");
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->plan.argv.back(), "echo hello");
  EXPECT_EQ(made->plan.cwd, workspace_.path());
  ASSERT_FALSE(made->view.roots.empty());
  EXPECT_TRUE(std::any_of(made->view.roots.begin(), made->view.roots.end(), [&](const ViewRoot& r) {
    return r.node.path == workspace_.path() && r.access == Access::kReadWrite;
  }));
}

TEST_F(SandboxTest, WhatIsMissingAndProtectedIsHeldOnTheHostAsLongAsItLives) {
  workspace_.directory(".git");  // without what is protected in it
  for (Protect& protect : policy_.sandbox.filesystem.protect) protect.missing = Missing::kRefuse;
  std::unique_ptr<Sandbox> made = sandbox("true");
  ASSERT_NE(made, nullptr);
  ASSERT_FALSE(made->plan.stubs.empty());
  const std::vector<std::string> stubs = made->plan.stubs;
  for (const std::string& path : stubs) EXPECT_TRUE(std::filesystem::exists(path)) << path;
  made.reset();
  for (const std::string& path : stubs) EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

TEST_F(SandboxTest, AProcessThatStillWaitsEndsWithIt) {
  SandboxInput wanted = input();
  wanted.awaits_command = true;
  Result<std::unique_ptr<Sandbox>> planned = plan_sandbox(wanted);
  ASSERT_TRUE(planned.ok()) << planned.error().message;
  std::unique_ptr<Sandbox> made = std::move(planned).value();
  ASSERT_TRUE(prepare_sandbox(wanted, *made).ok());
  const OwnedFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  Result<Spawned> spawned = spawn(SpawnRequest{made->plan, null.get(), null.get(), null.get(), -1});
  ASSERT_TRUE(spawned.ok()) << spawned.error().message;
  const pid_t pid = spawned.value().pid;
  made->spawned.emplace(std::move(spawned).value());
  ASSERT_EQ(kill(pid, 0), 0);
  made.reset();
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(SandboxTest, ARootThatIsNotThereIsAnErrorThatNamesIt) {
  policy_.sandbox.filesystem.roots.emplace_back();
  policy_.sandbox.filesystem.roots.back().path = workspace_.at("missing");
  policy_.sandbox.filesystem.roots.back().access = Access::kReadOnly;
  const Result<std::unique_ptr<Sandbox>> made = plan_sandbox(input());
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find(workspace_.at("missing")), std::string::npos)
      << made.error().message;
}

TEST_F(SandboxTest, ProgramsAreFoundByTheCommandsOwnPath) {
  environment_["PATH"] = "/somewhere";
  EXPECT_EQ(search_path(input()), "/somewhere");
  environment_.erase("PATH");
  EXPECT_EQ(search_path(input()), "");
}

TEST_F(SandboxTest, NoCgroupIsLookedForWhereNothingWouldBeLimitedByIt) {
  policy_.sandbox.limits.memory_mb.reset();
  policy_.sandbox.limits.pids.reset();
  facts_.cgroup.base = "/sys/fs/cgroup/made-up";
  choose_cgroup(policy_, facts_);
  EXPECT_TRUE(facts_.cgroup.base.empty());
  // What is known is not looked for again.
  policy_.sandbox.limits.pids = 10;
  facts_.cgroup.base = "/sys/fs/cgroup/made-up";
  choose_cgroup(policy_, facts_);
  EXPECT_EQ(facts_.cgroup.base, "/sys/fs/cgroup/made-up");
}

}  // namespace
}  // namespace sbx
