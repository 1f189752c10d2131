// SPDX-License-Identifier: Apache-2.0
// Supervised commands: what the shell around the fold sees of each end, and what it does about it.
#include "run/supervisor.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/made_sandbox.h"
#include "sys/calls.h"

namespace sbx {
namespace {

using namespace std::chrono_literals;

class SupervisorTest : public test::MadeSandbox {
 protected:
  void SetUp() override {
    test::MadeSandbox::SetUp();
    ASSERT_TRUE(loop_.open().ok());
  }
  void TearDown() override { supervisor_.reset(); }

  SuperviseInput of(const std::string& command) {
    sandbox_ = sandbox(command);
    SuperviseInput out{sandbox_->plan, policy_, denials_};
    out.loop = &loop_;
    out.is_alone = false;
    return out;
  }
  void start(SuperviseInput input) {
    supervisor_.emplace(std::move(input));
    const Status status = supervisor_->start();
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  // To the end, which comes within a minute or is none.
  Supervised& end() {
    const auto limit = Supervisor::Clock::now() + 60s;
    while (!supervisor_->is_finished() && Supervisor::Clock::now() < limit) supervisor_->step(100);
    EXPECT_TRUE(supervisor_->is_finished());
    return supervisor_->collect();
  }
  static std::string text(OutputStream& stream) { return stream.finish(false).text; }

  Loop loop_;
  DenialLedger denials_;
  std::unique_ptr<Sandbox> sandbox_;
  std::optional<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, ACommandsOutputAndEndAreSeen) {
  start(of("echo out; echo err >&2; exit 3"));
  EXPECT_GT(supervisor_->pid(), 0);
  Supervised& seen = end();
  EXPECT_EQ(seen.ending.cause, Cause::kEnded);
  ASSERT_TRUE(seen.ending.wait_status.has_value());
  EXPECT_EQ(WEXITSTATUS(*seen.ending.wait_status), 3);
  EXPECT_EQ(text(seen.out), "out\n");
  EXPECT_EQ(text(seen.err), "err\n");
  EXPECT_FALSE(seen.failure.has_value());
  EXPECT_FALSE(seen.was_lost);
  EXPECT_EQ(supervisor_->pid(), -1);
}

TEST_F(SupervisorTest, MergedOutputComesInTheOrderOfItsWriting) {
  SuperviseInput input = of("echo one; echo two >&2; echo three");
  input.merge = true;
  start(std::move(input));
  EXPECT_EQ(text(end().out), "one\ntwo\nthree\n");
}

// Each piece woke the reader before: others of the same thread waited for that.
TEST_F(SupervisorTest, ManySmallPiecesAreReadAFewTimes) {
  constexpr int kPieces = 20'000;
  start(of("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i + 1)); done"));
  int turns = 0;
  const auto limit = Supervisor::Clock::now() + 60s;
  for (; !supervisor_->is_finished() && Supervisor::Clock::now() < limit; ++turns) {
    supervisor_->step(100);
  }
  const std::string out = text(supervisor_->collect().out);
  EXPECT_TRUE(out.ends_with("\n19998\n19999\n"));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), kPieces);
  EXPECT_LT(turns, kPieces / 20);
}

TEST_F(SupervisorTest, TheTimeLimitEndsEverythingInside) {
  SuperviseInput input = of("sleep 600 & sleep 600");
  input.timeout_ms = 50;
  start(std::move(input));
  EXPECT_EQ(end().ending.cause, Cause::kTimedOut);
}

TEST_F(SupervisorTest, ASignalCancelsAndItsNumberIsKept) {
  start(of("sleep 600"));
  supervisor_->cancel(SIGINT);
  const Supervised& seen = end();
  EXPECT_EQ(seen.ending.cause, Cause::kCancelled);
  EXPECT_EQ(seen.ending.cancel_signal, SIGINT);
}

TEST_F(SupervisorTest, ASignalThatCameOverTheSignalDescriptorDoesTheSame) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe(ends), 0);  // signalfd(2) would be read alike
  const OwnedFd read_end(ends[0]);
  const OwnedFd write_end(ends[1]);
  SuperviseInput input = of("sleep 600");
  input.signal_fd = read_end.get();
  start(std::move(input));
  signalfd_siginfo info{};
  info.ssi_signo = SIGQUIT;
  ASSERT_EQ(write(write_end.get(), &info, sizeof info), static_cast<ssize_t>(sizeof info));
  EXPECT_EQ(end().ending.cancel_signal, SIGQUIT);
}

TEST_F(SupervisorTest, AskedToEndACommandMayStillSayHow) {
  SuperviseInput input = of("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done");
  input.on_output = [this](OutputChannel, std::string_view) { supervisor_->terminate(50s); };
  start(std::move(input));
  const Supervised& seen = end();
  EXPECT_EQ(seen.ending.cause, Cause::kKilled);
  ASSERT_TRUE(seen.ending.wait_status.has_value());
  EXPECT_EQ(WEXITSTATUS(*seen.ending.wait_status), 7);
}

TEST_F(SupervisorTest, TheOwnersEndIsTheRuns) {
  const pid_t owner = fork();
  if (owner == 0) _exit(0);
  const OwnedFd pidfd(sys::pidfd_open(owner, 0));
  ASSERT_TRUE(pidfd.is_open());
  SuperviseInput input = of("sleep 600");
  input.owner_pidfd = pidfd.get();
  start(std::move(input));
  EXPECT_EQ(end().ending.cause, Cause::kOwnerGone);
  waitpid(owner, nullptr, 0);
}

TEST_F(SupervisorTest, PidOneEndedFromOutsideTellsNothing) {
  start(of("echo begun; sleep 600"));
  ASSERT_EQ(kill(supervisor_->pid(), SIGKILL), 0);
  const Supervised& seen = end();
  EXPECT_EQ(seen.ending.cause, Cause::kNone);
  EXPECT_FALSE(seen.ending.wait_status.has_value());
}

TEST_F(SupervisorTest, HeldBackOutputIsWaitedForAfterTheCommandsEnd) {
  start(of("echo text"));
  supervisor_->hold_output(true);
  for (int i = 0; i < 600 && !supervisor_->is_over(); ++i) supervisor_->step(100);
  ASSERT_TRUE(supervisor_->is_over());
  supervisor_->step(0);
  EXPECT_FALSE(supervisor_->is_finished());
  supervisor_->hold_output(false);
  EXPECT_EQ(text(end().out), "text\n");
}

TEST_F(SupervisorTest, ItsBeginIsToldWhereThatIsAskedFor) {
  SuperviseInput input = of("sleep 600");
  input.tells_begin = true;
  start(std::move(input));
  for (int i = 0; i < 600 && !supervisor_->has_begun(); ++i) supervisor_->step(100);
  EXPECT_TRUE(supervisor_->has_begun());
  supervisor_->cancel(SIGTERM);
  end();
}

TEST_F(SupervisorTest, GivenUpItLeavesNoProcess) {
  start(of("sleep 600"));
  const pid_t pid = supervisor_->pid();
  supervisor_.reset();
  EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(SupervisorTest, ALoopThatCannotWaitEndsTheRunWithAFailure) {
  start(of("sleep 600"));
  loop_.close();
  supervisor_->step(-1);
  ASSERT_TRUE(supervisor_->is_finished());
  const Supervised& seen = supervisor_->collect();
  ASSERT_TRUE(seen.failure.has_value());
  EXPECT_EQ(seen.failure->code, ErrorCode::kSetupFailed);
  EXPECT_EQ(supervisor_->pid(), -1);
}

}  // namespace
}  // namespace sbx
