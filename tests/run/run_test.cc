// SPDX-License-Identifier: Apache-2.0
// Runs that a loop of the caller's drives: several at once, ended in each way.
#include "run/run.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "profile/store.h"

namespace sbx {
namespace {

using namespace std::chrono_literals;

class DrivenRun : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/sbx-run-test-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    workspace_ = path;
    Result<LoadedProfile> loaded = load_profile("default", ProfileSearch{});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    PolicyContext context;
    context.workspace = workspace_;
    Result<Policy> policy = make_policy(loaded.value().profile, OperatorFlags{}, context);
    ASSERT_TRUE(policy.ok()) << policy.error().message;
    policy_ = std::move(policy).value();
  }
  void TearDown() override { rmdir(workspace_.c_str()); }

  RunInput input(const Request& request) {
    RunInput input{policy_, request, read_quick_facts(nullptr), {{"PATH", "/usr/bin:/bin"}}};
    input.is_alone = false;
    return input;
  }

  // Drives all of them to their ends, at most for a minute.
  static void drive(const std::vector<CommandRun*>& runs) {
    const auto limit = CommandRun::Clock::now() + 60s;
    while (CommandRun::Clock::now() < limit) {
      std::vector<pollfd> waiting;
      auto until = limit;
      for (const CommandRun* run : runs) {
        if (run->is_done()) continue;
        waiting.push_back({run->poll_fd(), POLLIN, 0});
        if (run->deadline()) until = std::min(until, *run->deadline());
      }
      if (waiting.empty()) return;
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(until - CommandRun::Clock::now());
      poll(waiting.data(), waiting.size(), std::max(0, static_cast<int>(left.count())));
      for (CommandRun* run : runs) run->step();
    }
    FAIL() << "a run has not ended";
  }

  std::string workspace_;
  Policy policy_;
};

Request shell(const std::string& command) {
  Request request;
  request.command = command;
  return request;
}

TEST_F(DrivenRun, SeveralRunAtOnceOnOneThread) {
  const Request request = shell("read line < /proc/self/comm; echo $line; sleep 0.2; exit 3");
  std::vector<std::unique_ptr<CommandRun>> runs;
  std::vector<CommandRun*> all;
  for (int i = 0; i < 8; ++i) {
    runs.push_back(std::make_unique<CommandRun>(input(request)));
    all.push_back(runs.back().get());
    all.back()->start();
  }
  drive(all);
  for (const CommandRun* run : all) {
    EXPECT_EQ(run->outcome().status, RunStatus::kExited);
    EXPECT_EQ(run->outcome().exit_code, 3);
    EXPECT_EQ(run->outcome().out.text, "bash\n");
  }
}

TEST_F(DrivenRun, TerminatedItMayCleanUpWithinTheGrace) {
  const Request request =
      shell("trap 'echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
  RunInput driven = input(request);
  CommandRun* self = nullptr;
  driven.on_output = [&](OutputChannel, std::string_view text) {
    if (text.find("ready") != std::string_view::npos) self->terminate(20s);
  };
  CommandRun run(std::move(driven));
  self = &run;
  run.start();
  drive({&run});
  EXPECT_EQ(run.outcome().status, RunStatus::kKilled);
  EXPECT_EQ(run.outcome().out.text, "ready\ncleaned\n");
  EXPECT_EQ(run.outcome().exit_code, 0);  // it ended by itself
  EXPECT_EQ(run.outcome().signal, 0);
}

TEST_F(DrivenRun, WhatIgnoresTheRequestToEndIsKilledAfterTheGrace) {
  const Request request = shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  RunInput driven = input(request);
  CommandRun* self = nullptr;
  driven.on_output = [&](OutputChannel, std::string_view) { self->terminate(100ms); };
  CommandRun run(std::move(driven));
  self = &run;
  run.start();
  drive({&run});
  EXPECT_EQ(run.outcome().status, RunStatus::kKilled);
  EXPECT_EQ(run.outcome().signal, SIGKILL);
}

TEST_F(DrivenRun, TheInsideCannotSendPid1ItsRequestToEnd) {
  const Request request = shell("sleep 0.3 & kill -USR1 1; wait $!; echo $?");
  CommandRun run(input(request));
  run.start();
  drive({&run});
  EXPECT_EQ(run.outcome().status, RunStatus::kExited);
  EXPECT_EQ(run.outcome().out.text, "0\n");
}

TEST_F(DrivenRun, CancelledItIsKilledAtOnce) {
  const Request request = shell("sleep 30");
  CommandRun run(input(request));
  run.start();
  run.cancel();
  drive({&run});
  EXPECT_EQ(run.outcome().status, RunStatus::kCancelled);
}

TEST_F(DrivenRun, HeldBackOutputMakesTheCommandWaitAndIsLostNowhere) {
  const Request request = shell("head -c 300000 /dev/zero | tr '\\0' x; echo end >&2");
  RunInput driven = input(request);
  std::size_t seen = 0;
  bool ended = false;
  driven.on_output = [&](OutputChannel channel, std::string_view text) {
    if (channel == OutputChannel::kOut) seen += text.size();
    if (channel == OutputChannel::kErr) ended = true;
  };
  CommandRun run(std::move(driven));
  run.start();
  run.hold_output(true);
  const auto until = CommandRun::Clock::now() + 300ms;
  while (CommandRun::Clock::now() < until) {
    pollfd waiting{run.poll_fd(), POLLIN, 0};
    poll(&waiting, 1, 20);
    run.step();
  }
  EXPECT_EQ(seen, 0U);
  EXPECT_FALSE(ended);
  EXPECT_FALSE(run.is_done());
  run.hold_output(false);
  drive({&run});
  EXPECT_EQ(seen, 300000U);
  EXPECT_TRUE(ended);
}

TEST_F(DrivenRun, GivenUpBeforeItsEndItLeavesNoProcess) {
  const Request request = shell("sleep 30");
  pid_t pid = -1;
  {
    CommandRun run(input(request));
    run.start();
    pid = run.pid();
    ASSERT_GT(pid, 0);
  }
  EXPECT_NE(kill(pid, 0), 0);
}

}  // namespace
}  // namespace sbx
