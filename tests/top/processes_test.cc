// SPDX-License-Identifier: Apache-2.0
// Of this process and a child.
#include "processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sbx {
namespace {

TEST(Processes, CountAllThatIsBelow) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) (void)getppid();
  }
  Processes processes;
  processes.look();
  double most = 0;
  for (int i = 0; i < 100 && most <= 0; ++i) {
    usleep(50'000);
    processes.look();
    const auto use = processes.of(child, getpid());
    ASSERT_TRUE(use);
    most = use->cpu_percent;
    EXPECT_GT(use->memory_kb, 0);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_GT(most, 0);
}

TEST(Processes, WhatHasEndedUsesNothing) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  Processes processes;
  processes.look();
  EXPECT_FALSE(processes.of(child, getpid()));
}

}  // namespace
}  // namespace sbx
