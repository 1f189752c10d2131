// SPDX-License-Identifier: Apache-2.0
// Looks at made-up procfs directories: what counts, what exceeds, when the next look is due.
#include "run/watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "support/temp_dir.h"

namespace sbx {
namespace {

class WatchTest : public testing::Test {
 protected:
  // The directory of one process with so many threads, that has used so many clock ticks.
  void process(int pid, int threads = 1, long ticks = 0) const {
    const std::string name = std::to_string(pid);
    for (int i = 0; i < threads; ++i) {
      directory_.directory(name + "/task/" + std::to_string(pid + i));
    }
    // Fields 14 to 17; the name may hold anything.
    directory_.file(name + "/stat", name + " (a) b) S 0 0 0 0 0 0 0 0 0 0 " +
                                        std::to_string(ticks) + " 0 0 0 20 0");
    directory_.file(name + "/statm", "0 0 0 0 0 0 0\n");
  }

  TreeWatch watch(const WatchLimits& limits) const {
    TreeWatch made(limits, getpid());
    made.set_proc(OwnedFd(open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    return made;
  }

  test::TempDir directory_;
  int next_ms_ = 0;
};

TEST_F(WatchTest, ProcessesAreCountedWithoutPidOne) {
  process(1);
  process(2);
  process(3);
  WatchLimits limits;
  limits.pids = 2;
  TreeWatch within = watch(limits);
  EXPECT_EQ(within.look(next_ms_), std::nullopt);
  EXPECT_GE(next_ms_, 2);
  process(4);
  EXPECT_EQ(within.look(next_ms_), Limit::kPids);
}

TEST_F(WatchTest, ThreadsCountLikeProcesses) {
  process(1);
  process(2, 5);
  WatchLimits limits;
  limits.pids = 4;
  TreeWatch made = watch(limits);
  EXPECT_EQ(made.look(next_ms_), Limit::kPids);
}

TEST_F(WatchTest, WhereTheKernelHoldsTheNumberReachingItIsNotedOnly) {
  process(1);
  process(2);
  WatchLimits limits;
  limits.pids = 1;
  limits.kernel_holds_pids = true;
  TreeWatch made = watch(limits);
  EXPECT_FALSE(made.has_reached_pids());
  EXPECT_EQ(made.look(next_ms_), std::nullopt);
  EXPECT_TRUE(made.has_reached_pids());
}

TEST_F(WatchTest, ProcessorTimeOfAllIsHeldAgainstTheLimit) {
  const long second = sysconf(_SC_CLK_TCK);
  process(1, 1, 100 * second);  // PID 1's own work is not the command's
  process(2, 1, second);
  process(3, 1, second);
  WatchLimits limits;
  limits.cpu_ms = 2001;
  TreeWatch within = watch(limits);
  EXPECT_EQ(within.look(next_ms_), std::nullopt);
  EXPECT_LE(next_ms_, 250);
  limits.cpu_ms = 2000;
  TreeWatch beyond = watch(limits);
  EXPECT_EQ(beyond.look(next_ms_), Limit::kCpu);
}

TEST_F(WatchTest, TheNearerTheLimitTheSoonerTheNextLook) {
  process(1);
  process(2);
  WatchLimits limits;
  limits.pids = 1000;
  TreeWatch made = watch(limits);
  made.look(next_ms_);
  const int far = next_ms_;
  limits.pids = 100;
  made = watch(limits);
  made.look(next_ms_);
  EXPECT_LT(next_ms_, far);
}

TEST_F(WatchTest, WithoutAProcfsOfItsOwnTheDescendantsAreCounted) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  WatchLimits limits;
  limits.pids = 0;
  TreeWatch made(limits, getpid());
  EXPECT_EQ(made.look(next_ms_), Limit::kPids);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  TreeWatch alone(limits, getpid());
  EXPECT_EQ(alone.look(next_ms_), std::nullopt);
}

TEST_F(WatchTest, OnlyProcessesAreCountedAtFirst) {
  process(2, 3, 100'000);
  WatchLimits limits;
  limits.cpu_ms = 1;
  limits.pids = 1000;
  TreeWatch made = watch(limits);
  const int first_ms = made.first_look();
  EXPECT_EQ(made.look(next_ms_), std::nullopt);  // it has used more time, which is asked later
  EXPECT_GE(next_ms_, first_ms);
  limits.pids = 2;
  TreeWatch fewer = watch(limits);
  fewer.first_look();
  EXPECT_EQ(fewer.look(next_ms_), Limit::kPids);
  limits.pids.reset();
  EXPECT_GT(watch(limits).first_look(), first_ms);
  EXPECT_EQ(watch(limits).look(next_ms_), Limit::kCpu);
}

// A look that takes long goes on in a process apart, which has what had come by then.
TEST_F(WatchTest, WhatComesLateCountsForALookThatGoesOn) {
  process(1);
  process(2);
  directory_.file("2/statm", "100000 100000 0 0 0 0 0\n");  // as an estimate; exactly, nothing
  WatchLimits limits;
  limits.memory_bytes = 100 << 20;
  TreeWatch made = watch(limits);
  EXPECT_EQ(made.look(next_ms_), std::nullopt);
  const std::string segments =
      "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n"
      "0 0 1600 0 0 0 0 0 0 0 0 0 0 0 209715200 0\n";
  directory_.file("shm", segments);
  made.set_shared_memory(OwnedFd(open(directory_.at("shm").c_str(), O_RDONLY | O_CLOEXEC)));
  std::optional<Limit> limit;
  for (int i = 0; i < 500 && !limit; ++i) {
    limit = made.look(next_ms_);
    usleep(10'000);
  }
  EXPECT_EQ(limit, Limit::kMemory);
}

TEST_F(WatchTest, WithoutLimitsThereIsNothingToLookFor) {
  WatchLimits limits;
  EXPECT_FALSE(limits.any());
  limits.memory_bytes = 1;
  EXPECT_TRUE(limits.any());
}

}  // namespace
}  // namespace sbx
