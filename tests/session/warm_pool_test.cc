// SPDX-License-Identifier: Apache-2.0
// Sandboxes made in advance: used once, as good as new ones, thrown away when they are stale.
#include "session/warm_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "launch/handover.h"
#include "policy/environment.h"
#include "profile/store.h"
#include "run/run.h"

namespace sbx {
namespace {

class WarmPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/sbx-warm-test-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    workspace_ = path;
    Result<LoadedProfile> loaded = load_profile("default", ProfileSearch{});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    profile_ = loaded.value().profile;
    policy_ = policy_with({});
    pool_.emplace(std::make_shared<const Policy>(policy_), read_quick_facts(nullptr), inherited_,
                  2);
  }
  void TearDown() override {
    pool_.reset();
    std::filesystem::remove_all(workspace_);
  }

  Policy policy_with(const OperatorFlags& flags) {
    PolicyContext context;
    context.workspace = workspace_;
    Result<Policy> policy = make_policy(profile_, flags, context);
    EXPECT_TRUE(policy.ok());
    return std::move(policy).value();
  }

  Outcome run(const std::string& command, const Policy& policy) {
    Request request;
    request.command = command;
    RunInput input{policy, request, read_quick_facts(nullptr), inherited_};
    input.is_alone = false;
    input.warm = &*pool_;
    return CommandRun(std::move(input)).run();
  }
  Outcome run(const std::string& command) { return run(command, policy_); }

  std::string workspace_;
  Profile profile_;
  Policy policy_;
  Environment inherited_{{"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
  std::optional<WarmPool> pool_;
};

TEST_F(WarmPoolTest, IsFilledToItsSizeAndEmptiedByRuns) {
  pool_->refill();
  EXPECT_FALSE(pool_->is_full());
  pool_->refill();
  EXPECT_TRUE(pool_->is_full());
  EXPECT_EQ(run("echo one").out.text, "one\n");
  EXPECT_FALSE(pool_->is_full());
  EXPECT_EQ(run("echo two").out.text, "two\n");
  EXPECT_EQ(run("echo cold").out.text, "cold\n");
}

std::size_t entries_of(const char* directory) {
  const std::filesystem::directory_iterator all(directory);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Neither the answer nor a refill waits for the kernel to take a sandbox apart.
void settle(WarmPool& pool) {
  for (int i = 0; i < 1000 && !pool.is_settled(); ++i) {
    pool.refill();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

TEST_F(WarmPoolTest, RefillsLeaveNothingOfTheRunsBeforeThem) {
  settle(*pool_);
  ASSERT_TRUE(pool_->is_settled());
  const std::size_t descriptors = entries_of("/proc/self/fd");
  for (int i = 0; i < 40; ++i) {  // more than wait to be let go
    EXPECT_EQ(run("echo warm; exit 3").exit_code, 3);
    EXPECT_FALSE(pool_->is_settled());
    if (i % 2 == 1) pool_->refill();
  }
  settle(*pool_);
  ASSERT_TRUE(pool_->is_settled());
  EXPECT_EQ(entries_of("/proc/self/fd"), descriptors);
  pool_.reset();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
}

// The same file under the same name, yet a mount over it has gone with the name: a look at device
// and inode finds nothing.
void uncover(const std::string& path) {
  std::filesystem::create_hard_link(path, path + ".kept");
  std::filesystem::remove(path);
  std::filesystem::rename(path + ".kept", path);
}

// PID 1 only notes the loss, so that nothing but the look before the exec keeps it from being seen.
class WarmPoolWithAHiddenFile : public WarmPoolTest {
 protected:
  void SetUp() override {
    WarmPoolTest::SetUp();
    hidden_ = workspace_ + "/hidden";
    std::ofstream(hidden_) << "secret\n";
    profile_.filesystem.roots.push_back({hidden_, Access::kNone, false, "", false});
    profile_.filesystem.replaced = ReplacedMode::kReport;
    policy_ = policy_with({});
    pool_.emplace(std::make_shared<const Policy>(policy_), read_quick_facts(nullptr), inherited_,
                  2);
    pool_->refill();
  }
  std::string hidden_;
};

TEST_F(WarmPoolWithAHiddenFile, ASandboxThatLostItWhileItWaitedIsNotUsed) {
  EXPECT_EQ(run("cat hidden; echo covered").out.text, "covered\n");
  pool_->refill();
  uncover(hidden_);
  const Outcome outcome = run("cat hidden; echo anew");
  EXPECT_EQ(outcome.out.text, "anew\n") << (outcome.error ? outcome.error->message : "");
  EXPECT_EQ(outcome.exit_code, 0);
}

TEST_F(WarmPoolWithAHiddenFile, ASandboxThatLosesItOnItsWayToACommandDoesNotBeginIt) {
  for (const ReplacedMode mode : {ReplacedMode::kReport, ReplacedMode::kRestore}) {
    profile_.filesystem.replaced = mode;
    policy_ = policy_with({});
    pool_.emplace(std::make_shared<const Policy>(policy_), read_quick_facts(nullptr), inherited_,
                  1);
    pool_->refill();
    Request request;
    request.command = "cat hidden";
    HostFacts facts = read_quick_facts(nullptr);
    const Environment environment = make_environment(policy_, inherited_, facts.user_name);
    std::unique_ptr<Sandbox> taken =
        pool_->take(SandboxInput{policy_, request, facts, inherited_, environment});
    ASSERT_NE(taken, nullptr);
    const CommandSlot& slot = *taken->spawned->slot;
    while (slot.is_waiting.load() == 0 && taken->spawned->state->failed_step.load() == 0) {
      std::this_thread::yield();
    }
    uncover(hidden_);
    int out[2];
    ASSERT_EQ(pipe2(out, O_CLOEXEC), 0);
    const Status handed = hand_over(*taken->spawned, taken->plan, {out[1], out[1], out[1]});
    ASSERT_TRUE(handed.ok()) << handed.error().message;
    close(out[1]);
    // Readable when there is output, or nobody has the other end any more.
    struct pollfd readable {
      out[0], POLLIN, 0
    };
    ASSERT_EQ(poll(&readable, 1, 20'000), 1);
    std::string text(100, '\0');
    const ssize_t size = read(out[0], text.data(), text.size());
    close(out[0]);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    EXPECT_EQ(text, "");
    const SharedState& state = *taken->spawned->state;
    ASSERT_GT(state.failed_step.load(), 0U);
    EXPECT_EQ(state.failed_errno.load(), ESTALE);
    EXPECT_TRUE(taken->plan.ops.at(state.failed_step.load() - 1).is<op::CheckGuards>());
  }
}

// What runs on behind the command ends with it, and the answer comes only then.
TEST_F(WarmPoolTest, ACommandThatLeavesProcessesBehindIsWaitedFor) {
  pool_->refill();
  pool_->refill();
  const Outcome outcome = run("sleep 60 >/dev/null 2>&1 & echo started");
  EXPECT_EQ(outcome.out.text, "started\n");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_GE(outcome.usage.user_ms + outcome.usage.system_ms, 0.0);
}

TEST_F(WarmPoolTest, ACommandFindsWhatItWouldFindInANewSandbox) {
  const std::string look =
      "pwd; env | sort; id; cat /proc/self/status | grep -E 'Seccomp|NoNewPrivs|CapEff|Umask'; "
      "ls -a /tmp /dev/shm; readlink /proc/self/fd/0; ls /proc/self/fd; ulimit -a; cat "
      "/proc/1/comm; "
      "grep -c . /proc/self/mountinfo; trap; exit 7";
  const Outcome cold = run(look);
  pool_->refill();
  pool_->refill();
  const Outcome warm = run(look);
  ASSERT_FALSE(pool_->is_full()) << "the warm sandbox was not used";
  EXPECT_EQ(warm.out.text, cold.out.text);
  EXPECT_EQ(warm.err.text, cold.err.text);
  EXPECT_EQ(warm.exit_code, 7);
  EXPECT_EQ(warm.sandbox.confirmed, cold.sandbox.confirmed);
  EXPECT_EQ(warm.sandbox.landlock_abi, cold.sandbox.landlock_abi);
}

TEST_F(WarmPoolTest, NoStatePassesFromOneCommandToTheNextButTheWorkspace) {
  pool_->refill();
  pool_->refill();
  run("touch /tmp/left /dev/shm/left ~/left kept");
  EXPECT_EQ(run("ls -A /tmp /dev/shm ~ | grep left; ls").out.text, "kept\n");
}

TEST_F(WarmPoolTest, RefusedCallsAreReportedAsEver) {
  pool_->refill();
  const Outcome outcome = run("unshare -Ur true");
  ASSERT_FALSE(outcome.denials.empty());
  EXPECT_EQ(outcome.denials.front().layer, Refuser::kSeccomp);
}

TEST_F(WarmPoolTest, WhatHasBecomeProtectedSinceIsProtected) {
  pool_->refill();
  pool_->refill();
  std::filesystem::create_directories(workspace_ + "/.git/hooks");
  EXPECT_EQ(run("echo evil > .git/hooks/pre-commit || echo refused").out.text, "refused\n");
  EXPECT_FALSE(std::filesystem::exists(workspace_ + "/.git/hooks/pre-commit"));
}

TEST_F(WarmPoolTest, AReplacedWorkspaceIsSeen) {
  pool_->refill();
  std::filesystem::rename(workspace_, workspace_ + ".old");
  std::filesystem::create_directory(workspace_);
  std::ofstream(workspace_ + "/new") << "x";
  EXPECT_EQ(run("ls").out.text, "new\n");
  std::filesystem::remove_all(workspace_ + ".old");
}

// What was looked at once is looked at again only where change times tell of a change.
TEST_F(WarmPoolTest, ADeniedProgramThatHasComeSinceIsDenied) {
  const std::string programs = workspace_ + ".programs";
  std::filesystem::create_directory(programs);
  profile_.filesystem.roots.push_back({programs, Access::kReadOnly, false, ""});
  policy_ = policy_with({});
  inherited_["PATH"] = programs + ":/usr/bin:/bin";
  pool_.emplace(std::make_shared<const Policy>(policy_), read_quick_facts(nullptr), inherited_, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  pool_->refill();
  EXPECT_EQ(run("echo one").out.text, "one\n");
  pool_->refill();
  std::filesystem::copy("/bin/echo", programs + "/sudo");
  // The text names no program but python3: one of unknown name would get a new sandbox.
  const Outcome outcome = run("/usr/bin/python3 -c \"import os; os.execv('" + programs +
                              "/su' + 'do', ['x', 'ran'])\"");
  EXPECT_EQ(outcome.out.text, "") << outcome.err.text;
  EXPECT_NE(outcome.err.text.find("PermissionError"), std::string::npos) << outcome.err.text;
  std::filesystem::remove_all(programs);
}

TEST_F(WarmPoolTest, AnotherPolicyIsNotServed) {
  pool_->refill();
  pool_->refill();
  OperatorFlags flags;
  flags.limits.pids = 77;
  EXPECT_EQ(run("echo x", policy_with(flags)).out.text, "x\n");
  EXPECT_TRUE(pool_->is_full());
}

TEST_F(WarmPoolTest, AMissingProgramIsAnErrorAsEver) {
  pool_->refill();
  Request request;
  request.argv = {"no-such-program"};
  RunInput input{policy_, request, read_quick_facts(nullptr), inherited_};
  input.warm = &*pool_;
  CommandRun run(std::move(input));
  EXPECT_EQ(run.run().exit_status, 127);
}

TEST_F(WarmPoolTest, ACommandTooLongToHandOverRunsAllTheSame) {
  pool_->refill();
  Request request;
  request.argv = {"bash", "-c", "echo $#", "x"};
  for (int i = 0; i < 100; ++i) request.argv.emplace_back(12'000, 'a');
  RunInput input{policy_, request, read_quick_facts(nullptr), inherited_};
  input.warm = &*pool_;
  CommandRun run(std::move(input));
  EXPECT_EQ(run.run().out.text, "100\n");
}

TEST_F(WarmPoolTest, ASandboxThatWasKilledIsNotUsed) {
  pool_->refill();
  pool_->refill();
  std::ifstream children("/proc/thread-self/children");
  int killed = 0;
  for (pid_t pid = 0; children >> pid;) {
    EXPECT_EQ(kill(pid, SIGKILL), 0);
    siginfo_t ended{};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
    ++killed;
  }
  ASSERT_GE(killed, 2);
  EXPECT_EQ(run("echo fine").out.text, "fine\n");
}

std::vector<pid_t> children_of(const std::string& process) {
  std::ifstream children("/proc/" + process + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; children >> pid;) pids.push_back(pid);
  return pids;
}

// Ours that are the first of a pid namespace of their own: a run's watchdog is our child too.
std::vector<pid_t> first_processes() {
  std::vector<pid_t> pids = children_of("thread-self");
  std::erase_if(pids, [](pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("NSpid:")) return std::count(line.begin(), line.end(), '\t') < 2;
    }
    return true;
  });
  return pids;
}

// The processes below PID 1 in which a filter is in force: not what makes its network.
std::vector<pid_t> waiting_below(pid_t init) {
  const std::string pid = std::to_string(init);
  std::vector<pid_t> pids = children_of(pid + "/task/" + pid);
  std::erase_if(pids, [](pid_t child) {
    std::ifstream status("/proc/" + std::to_string(child) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line == "Seccomp:\t2") return false;
    }
    return true;
  });
  return pids;
}

// Whichever of its processes is ended, and however late that is seen.
TEST_F(WarmPoolTest, ASandboxThatIsKilledOnItsWayToACommandIsReplacedByANewOne) {
  for (int round = 0; round < 20; ++round) {
    pool_->refill();
    pool_->refill();
    ASSERT_TRUE(pool_->is_full());
    // Those that wait; one that is on its way in or out has no children.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    std::set<pid_t> killed;
    while (killed.empty() && std::chrono::steady_clock::now() < until) {
      for (const pid_t init : children_of("thread-self")) {
        const std::vector<pid_t> waiting = waiting_below(init);
        if (waiting.empty() || !killed.insert(init).second) continue;
        const bool is_init = round % 2 != 0;
        EXPECT_EQ(kill(is_init ? init : waiting.front(), SIGKILL), 0);
        // Until PID 1 has ended the command may begin, and is ended with it.
        siginfo_t ended{};
        const auto id = static_cast<id_t>(init);
        if (is_init) {
          EXPECT_EQ(waitid(P_PID, id, &ended, WEXITED | WNOWAIT), 0);
        }
      }
    }
    ASSERT_FALSE(killed.empty()) << round;
    const Outcome outcome = run("echo fine");
    EXPECT_EQ(outcome.out.text, "fine\n") << run_status_name(outcome.status) << " " << round;
  }
}

// A zombie among our children is the PID 1 of an earlier run, until the refill after the next.
TEST_F(WarmPoolTest, AWaitingSandboxOutlivesTheOther) {
  for (int round = 0; round < 6; ++round) {
    WarmPool pool(std::make_shared<const Policy>(policy_), read_quick_facts(nullptr), inherited_,
                  2);
    pool.refill();
    const std::vector<pid_t> first = first_processes();
    ASSERT_EQ(first.size(), 1U);
    pool.refill();
    std::vector<pid_t> both = first_processes();
    ASSERT_EQ(both.size(), 2U);
    const pid_t other = both[0] == first[0] ? both[1] : both[0];
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while ((waiting_below(first[0]).empty() || waiting_below(other).empty()) &&
           std::chrono::steady_clock::now() < until) {
    }
    const pid_t command = waiting_below(other).at(0);
    EXPECT_EQ(kill(round % 2 == 0 ? waiting_below(first[0]).at(0) : first[0], SIGKILL), 0);
    siginfo_t ended{};
    const auto id = static_cast<id_t>(first[0]);
    if (round % 2 != 0) {
      EXPECT_EQ(waitid(P_PID, id, &ended, WEXITED | WNOWAIT), 0);
    }
    ended = {};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(other), &ended, WEXITED | WNOHANG | WNOWAIT), 0);
    EXPECT_EQ(ended.si_pid, 0) << round;
    EXPECT_EQ(waiting_below(other), std::vector<pid_t>{command});
  }
}

TEST_F(WarmPoolTest, ItsEndEndsTheWaitingSandboxes) {
  pool_->refill();
  pool_.reset();
  // Reaped, so there is no child of ours left.
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  pool_.emplace(std::make_shared<const Policy>(policy_), read_quick_facts(nullptr), inherited_, 1);
}

}  // namespace
}  // namespace sbx
