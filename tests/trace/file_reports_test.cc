// SPDX-License-Identifier: Apache-2.0
// FileReports: what a child names is looked at while it waits, and it goes on whatever was found.
#include "trace/file_reports.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "support/temp_dir.h"
#include "trace/filtered.h"

namespace sbx {
namespace {

using test::Filtered;
using test::set_own_name;
using test::TempDir;

int try_to_execute(const std::string& path) {
  const char* const arguments[] = {"x", nullptr};
  return static_cast<int>(syscall(SYS_execve, path.c_str(), arguments, nullptr)) == 0 ? 0 : errno;
}

int try_to_open(const std::string& path) {
  const long fd = syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY);
  return fd >= 0 ? 0 : errno;
}

class FileReportsTest : public ::testing::Test {
 protected:
  void start() {
    reports_.emplace(plan_, policy_, refusals_, denials_, [this](int fd, bool on) {
      channel_ = on ? fd : -1;
      return true;
    });
  }
  int serve(Filtered& child) {
    OwnedFd listener = child.take_listener();
    EXPECT_TRUE(listener.is_open()) << "no seccomp listener can be had here";
    if (!listener.is_open()) return -1;
    refusals_.set_listener(std::move(listener));
    return child.serve(
        [this] {
          return std::vector<int>{refusals_.listener(), channel_};
        },
        [this] {
          refusals_.answer();
          reports_->step();
        });
  }
  void observe(int number) {
    start();
    refusals_.observe({number}, [this](const sys::SeccompNotif& call) { reports_->look(call); });
  }

  TempDir directory_;
  LaunchPlan plan_;
  Policy policy_;
  DenialLedger denials_;
  Refusals refusals_{denials_};
  int channel_ = -1;
  std::optional<FileReports> reports_;
};

TEST_F(FileReportsTest, AnExecOfADeniedProgramIsReportedAndGoesOn) {
  const std::string program = directory_.file("prog", "");
  const std::string other = directory_.symlink("other", "prog");
  plan_.denied_programs = {program};
  policy_.sandbox.commands.deny = {"prog"};
  observe(SYS_execve);
  Filtered child({SYS_execve}, [&] {
    set_own_name("prober");
    try_to_execute(other);
    try_to_execute("/nowhere/else");
    return try_to_execute(program);
  });
  EXPECT_EQ(serve(child), EACCES);  // the kernel's answer: it has no execute permission
  EXPECT_EQ(denials_.entries(), (std::vector<Denial>{{Refuser::kLandlock, "exec", program, 2,
                                                      "prober", "commands.deny -= [\"prog\"]"}}));
}

TEST_F(FileReportsTest, OpensAreReportedOnlyWhereDenialsAreTraced) {
  plan_.wanted.add(Layer::kMount);
  const std::string mask = directory_.file("mask", "", 0);
  plan_.shown.emplace_back(mask, "none");
  observe(SYS_openat);
  for (const bool traced : {false, true}) {
    policy_.sandbox.trace_denials = traced;
    start();  // the process apart has the policy as it was when it began
    Filtered child({SYS_openat}, [&] {
      try_to_open(mask);
      return 3;
    });
    EXPECT_EQ(serve(child), 3);
    EXPECT_EQ(denials_.entries().size(), traced ? 1U : 0U);
  }
  EXPECT_EQ(denials_.entries()[0].layer, Refuser::kMount);
  EXPECT_EQ(denials_.entries()[0].operation, "open");
  EXPECT_EQ(denials_.entries()[0].target, mask);
}

TEST_F(FileReportsTest, NamesBeyondTheBoundAreCountedAsOthersOfTheirOperation) {
  for (int i = 0; i < 300; ++i) plan_.denied_programs.push_back("/nowhere/" + std::to_string(i));
  observe(SYS_execve);
  Filtered child({SYS_execve}, [&] {
    set_own_name("prober");
    int error = 0;
    for (const std::string& program : plan_.denied_programs) error = try_to_execute(program);
    return error;
  });
  EXPECT_EQ(serve(child), ENOENT);
  const auto entries = denials_.entries();
  ASSERT_EQ(entries.size(), 257U);
  EXPECT_EQ(entries[128].target, "/nowhere/128");
  EXPECT_EQ(entries[255].target, "/nowhere/255");
  EXPECT_EQ(entries[255].count, 1U);
  EXPECT_EQ(entries[256], (Denial{Refuser::kLandlock, "exec", "(others)", 44, "", ""}));
}

TEST_F(FileReportsTest, APathThatCannotBeReadGoesOnUnreported) {
  observe(SYS_execve);
  plan_.denied_programs = {"/nowhere/1"};
  Filtered child({SYS_execve},
                 [] { return syscall(SYS_execve, 8, nullptr, nullptr) == 0 ? 0 : errno; });
  EXPECT_EQ(serve(child), EFAULT);
  EXPECT_TRUE(denials_.entries().empty());
}

TEST_F(FileReportsTest, OnceClosedItLetsEveryCallGoOnAtOnce) {
  plan_.denied_programs = {"/nowhere/1"};
  observe(SYS_execve);
  reports_->close();
  Filtered child({SYS_execve}, [] { return try_to_execute("/nowhere/1"); });
  EXPECT_EQ(serve(child), ENOENT);
  EXPECT_TRUE(denials_.entries().empty());
  EXPECT_EQ(channel_, -1);
}

}  // namespace
}  // namespace sbx
