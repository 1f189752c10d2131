// SPDX-License-Identifier: Apache-2.0
// A session with real commands: many at once, what is kept of them, how they end.
#include "session/session.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "support/default_session.h"
#include "sys/calls.h"

namespace sbx {
namespace {

using namespace std::chrono_literals;

class SessionTest : public testing::Test {
 protected:
  static Request shell(const std::string& command) {
    Request request;
    request.command = command;
    return request;
  }

  // A task that has been started, or null and a failure.
  static Session::TaskPointer start(Session& session, const std::string& command,
                                    TaskKind kind = TaskKind::kTask) {
    Result<Session::TaskPointer> task = session.start(kind, shell(command));
    if (!task.ok()) ADD_FAILURE() << task.error().message;
    return task.ok() ? task.value() : nullptr;
  }

  static void drive(Session& session, const std::function<bool()>& is_enough) {
    sbx::drive(session, is_enough, [&] { (void)session.take_changed(); });
  }
  static void drive_to_end(Session& session) {
    drive(session, [&] { return session.is_idle(); });
  }

  DefaultSession default_;
  const std::string& workspace_ = default_.workspace;
  SessionOptions& options_ = default_.options;
};

// Answered at once under a fresh id.
TEST_F(SessionTest, StartsATaskUnderAnIdOfItsOwnAndKeepsItsOutput) {
  Session session(options_);
  const auto task = start(session, "echo out; echo err >&2; exit 3");
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->id().size(), 36U);
  EXPECT_EQ(task->id()[14], '4');
  EXPECT_GT(task->pid(), 0);
  EXPECT_EQ(session.find(task->id()), task);
  drive_to_end(session);
  ASSERT_NE(task->outcome(), nullptr);
  EXPECT_EQ(task->outcome()->exit_code, 3);
  EXPECT_EQ(task->output().read(0).out, "out\n");
  EXPECT_EQ(task->output().read(0).err, "err\n");
  EXPECT_EQ(session.tasks().size(), 1U);
}

TEST_F(SessionTest, FiftyTasksAtOnceDoNotDisturbEachOther) {
  Session session(options_);
  std::vector<Session::TaskPointer> tasks;
  for (int i = 0; i < 50; ++i) {
    const std::string number = std::to_string(i);
    tasks.push_back(start(session, "for i in 1 2 3; do echo " + number +
                                       "; sleep 0.05; done; echo e" + number + " >&2; exit " +
                                       number));
    ASSERT_NE(tasks.back(), nullptr);
  }
  drive_to_end(session);
  for (int i = 0; i < 50; ++i) {
    const std::string line = std::to_string(i) + "\n";
    const Task& task = *tasks[static_cast<std::size_t>(i)];
    EXPECT_EQ(task.outcome()->exit_code, i);
    EXPECT_EQ(task.output().read(0).out, line + line + line);
    EXPECT_EQ(task.output().read(0).err, "e" + line);
  }
}

TEST_F(SessionTest, AThousandTasksComeAndAreForgottenInOrder) {
  options_.bounds.ended = 100;
  Session session(options_);
  std::string first;
  std::string last;
  for (int i = 0; i < 1000; ++i) {
    const auto task = start(session, "echo " + std::to_string(i));
    ASSERT_NE(task, nullptr);
    (i == 0 ? first : last) = task->id();
    if (i % 20 == 19) drive_to_end(session);
  }
  session.forget_old();
  EXPECT_EQ(session.tasks().size(), 100U);
  EXPECT_EQ(session.find(first), nullptr);
  ASSERT_NE(session.find(last), nullptr);
  EXPECT_EQ(session.find(last)->output().read(0).out, "999\n");
  // None of their processes is left.
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(SessionTest, AFloodCostsTheBufferAndNoMore) {
  Session session(options_);
  const auto task = start(session, "head -c 30000000 /dev/zero | tr '\\0' x");
  ASSERT_NE(task, nullptr);
  drive_to_end(session);
  const TaskOutput::Text text = task->output().read(0);
  EXPECT_EQ(text.out.size(), std::size_t{1} << 20);
  EXPECT_EQ(text.next, 30'000'000U);
  EXPECT_EQ(text.dropped + text.out.size(), 30'000'000U);
}

TEST_F(SessionTest, AllTasksTogetherKeepABoundedAmount) {
  options_.bounds.kept_bytes = std::size_t{1} << 20;
  Session session(options_);
  for (int i = 0; i < 4; ++i) {
    ASSERT_NE(start(session, "head -c 900000 /dev/zero | tr '\\0' x; sleep 0.5"), nullptr);
  }
  drive_to_end(session);
  std::size_t kept = 0;
  for (const auto& task : session.tasks()) kept += task->output().kept_bytes();
  EXPECT_LE(kept, std::size_t{1} << 20);
}

TEST_F(SessionTest, AsksATaskToEndAndKillsWhatDoesNot) {
  Session session(options_);
  const auto polite = start(session,
                            "trap 'echo bye; exit 0' TERM; echo ready; "
                            "while :; do sleep 0.02; done");
  const auto stubborn = start(session,
                              "trap '' TERM; (trap '' TERM; exec sleep 1000) & "
                              "echo ready; while :; do sleep 0.02; done");
  ASSERT_TRUE(polite && stubborn);
  drive(session, [&] { return polite->output().end() > 0 && stubborn->output().end() > 0; });
  session.terminate(*polite, 20s);
  session.terminate(*stubborn, 200ms);
  drive_to_end(session);
  EXPECT_EQ(polite->output().read(0).out, "ready\nbye\n");
  EXPECT_EQ(polite->outcome()->status, RunStatus::kKilled);
  EXPECT_EQ(stubborn->outcome()->status, RunStatus::kKilled);
  EXPECT_LT(stubborn->uptime_seconds(), 20.0);
}

TEST_F(SessionTest, ACancelCutsAGraceShort) {
  Session session(options_);
  const auto task = start(session, "trap '' TERM; echo ready; while :; do sleep 0.02; done");
  ASSERT_NE(task, nullptr);
  drive(session, [&] { return task->output().end() > 0; });
  session.terminate(*task, 500s);
  session.cancel(*task);
  drive_to_end(session);
  EXPECT_FALSE(task->is_running());
}

// The input stays open, and is read at the task's own pace.
TEST_F(SessionTest, ATaskReadsWhatItIsSentLater) {
  Session session(options_);
  const auto task = start(session, "read a; echo got $a; sleep 0.2; wc -c");
  ASSERT_NE(task, nullptr);
  ASSERT_TRUE(task->input().push("first\n", false, nullptr).ok());
  session.write_stdin(*task);
  drive(session, [&] { return task->output().end() > 0; });
  bool is_written = false;
  ASSERT_TRUE(task->input()
                  .push(std::string(500'000, 'x'), true,
                        [&](const Status& status) { is_written = status.ok(); })
                  .ok());
  session.write_stdin(*task);
  EXPECT_FALSE(is_written);
  drive_to_end(session);
  EXPECT_TRUE(is_written);
  EXPECT_EQ(task->output().read(0).out, "got first\n500000\n");
}

TEST_F(SessionTest, ARunReadsItsInputToTheEnd) {
  Session session(options_);
  Request request = shell("wc -c");
  request.stdin_text = std::string(300'000, 'x');
  Result<Session::TaskPointer> run = session.start(TaskKind::kRun, request);
  ASSERT_TRUE(run.ok());
  drive_to_end(session);
  EXPECT_EQ(run.value()->outcome()->out.text, "300000\n");
  EXPECT_TRUE(session.tasks().empty());
}

// The time limit of a run is none of a task, unless it asks for one.
TEST_F(SessionTest, ATaskHasOnlyTheTimeLimitThatItAsksFor) {
  default_.change([](Policy& policy) {
    policy.run.limits.timeout_ms = 100;
    policy.run.ceilings.timeout_ms = 1000;
  });
  Session session(options_);
  const auto unlimited = start(session, "sleep 0.6");
  Request request = shell("sleep 100");
  request.timeout_ms = 200;
  Result<Session::TaskPointer> limited = session.start(TaskKind::kTask, request);
  const auto run = start(session, "sleep 100", TaskKind::kRun);
  ASSERT_TRUE(unlimited && limited.ok() && run);
  drive_to_end(session);
  EXPECT_EQ(unlimited->outcome()->status, RunStatus::kExited);
  EXPECT_EQ(limited.value()->outcome()->status, RunStatus::kTimedOut);
  EXPECT_EQ(run->outcome()->status, RunStatus::kTimedOut);
}

TEST_F(SessionTest, AResetEndsEverythingAndClearsTheSessionsOwnWorkspaceOnly) {
  for (const bool is_own : {true, false}) {
    std::filesystem::create_directories(workspace_ + "/sub/dir");
    std::ofstream(workspace_ + "/sub/dir/file") << "x";
    options_.own_workspace = is_own;
    {
      Session session(options_);
      const auto task = start(session, "trap '' TERM; while :; do sleep 0.05; done");
      const auto run = start(session, "sleep 1000", TaskKind::kRun);
      ASSERT_TRUE(task && run);
      session.reset(100ms);
      EXPECT_FALSE(session.start(TaskKind::kTask, shell("true")).ok());
      drive_to_end(session);
      EXPECT_EQ(task->outcome()->status, RunStatus::kCancelled);
      EXPECT_EQ(run->outcome()->status, RunStatus::kCancelled);
      EXPECT_TRUE(session.tasks().empty());
      EXPECT_TRUE(session.reset_status().ok());
      EXPECT_EQ(std::filesystem::exists(workspace_ + "/sub/dir/file"), !is_own);
      EXPECT_TRUE(std::filesystem::is_directory(workspace_));
      EXPECT_NE(start(session, "true"), nullptr);
      drive_to_end(session);
    }
    EXPECT_EQ(std::filesystem::exists(workspace_), !is_own);
    std::filesystem::create_directories(workspace_);
  }
}

TEST_F(SessionTest, EverythingEndsWithTheOwner) {
  const pid_t owner = fork();
  if (owner == 0) {
    for (;;) pause();
  }
  const OwnedFd pidfd(sys::pidfd_open(owner, 0));
  options_.owner_pidfd = pidfd.get();
  Session session(options_);
  const auto task = start(session, "trap '' TERM; while :; do sleep 0.05; done");
  ASSERT_NE(task, nullptr);
  kill(owner, SIGKILL);
  drive_to_end(session);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(session.has_lost_owner());
  EXPECT_EQ(task->outcome()->status, RunStatus::kCancelled);
  EXPECT_EQ(task->cancel_reason(), "owner");
  EXPECT_FALSE(session.start(TaskKind::kTask, shell("true")).ok());
}

TEST_F(SessionTest, ItsEndIsTheEndOfEveryTask) {
  pid_t pid = -1;
  {
    Session session(options_);
    const auto task = start(session, "trap '' TERM; while :; do sleep 0.05; done");
    ASSERT_NE(task, nullptr);
    pid = task->pid();
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(SessionTest, RefusesMoreThanItsBound) {
  options_.bounds.running = 2;
  Session session(options_);
  ASSERT_TRUE(start(session, "sleep 1000") && start(session, "sleep 1000"));
  Result<Session::TaskPointer> third = session.start(TaskKind::kTask, shell("true"));
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ErrorCode::kTooMany);
}

TEST_F(SessionTest, HoldsABoundedAmountOfRequests) {
  options_.bounds.kept_bytes = std::size_t{1} << 20;
  Session session(options_);
  const auto large = [](const char* command) {
    Request request = shell(command);
    request.stdin_text = std::string(450'000, 'x');
    return request;
  };
  for (int i = 0; i < 10; ++i) {  // ended ones make place for new ones
    ASSERT_TRUE(session.start(TaskKind::kTask, large("true")).ok());
    drive_to_end(session);
  }
  ASSERT_TRUE(session.start(TaskKind::kTask, large("sleep 1000")).ok());
  ASSERT_TRUE(session.start(TaskKind::kTask, large("sleep 1000")).ok());
  Result<Session::TaskPointer> third = session.start(TaskKind::kTask, shell("true"));
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ErrorCode::kTooMany);
}

TEST_F(SessionTest, ANetworkThatIsNotGrantedIsARefusalWithTheGrant) {
  Session session(options_);
  Request request = shell("true");
  request.network = true;
  Result<Session::TaskPointer> task = session.start(TaskKind::kTask, request);
  ASSERT_TRUE(task.ok());
  ASSERT_NE(task.value()->outcome(), nullptr);
  EXPECT_EQ(task.value()->outcome()->status, RunStatus::kDenied);
  EXPECT_EQ(task.value()->outcome()->exit_status, 126);
  ASSERT_FALSE(task.value()->outcome()->denials.empty());
  EXPECT_EQ(task.value()->outcome()->denials[0].layer, Refuser::kNetwork);
  EXPECT_TRUE(session.tasks().empty());
}

// Only the workspace passes from one command to the next, warm or cold.
TEST_F(SessionTest, OnlyTheWorkspacePassesFromOneCommandToTheNext) {
  options_.warm = 2;
  Session session(options_);
  for (int i = 0; i < 6; ++i) {
    const auto run =
        start(session,
              "cat kept /tmp/lost ~/lost 2>/dev/null; echo $$ $LOST; echo " + std::to_string(i) +
                  " > kept; echo x > /tmp/lost; echo x > ~/lost; "
                  "export LOST=yes",
              TaskKind::kRun);
    ASSERT_NE(run, nullptr);
    drive_to_end(session);
    const std::string& text = run->outcome()->out.text;
    EXPECT_EQ(text.find('x'), std::string::npos) << text;
    EXPECT_EQ(text.find("yes"), std::string::npos) << text;
    const std::string kept = i == 0 ? "" : std::to_string(i - 1) + "\n";
    EXPECT_TRUE(text.starts_with(kept)) << text;
  }
}

}  // namespace
}  // namespace sbx
