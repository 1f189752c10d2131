// SPDX-License-Identifier: Apache-2.0
// Refusals: what a child with a filter asks for, and what it is answered.
#include "trace/refusals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trace/filtered.h"

namespace sbx {
namespace {

using test::Filtered;
using test::set_own_name;

int try_to_mount() { return mount("none", "/nowhere", "tmpfs", 0, nullptr) == 0 ? 0 : errno; }

class RefusalsTest : public ::testing::Test {
 protected:
  // Answers the child until it has ended: its exit status.
  int serve(Filtered& child) {
    OwnedFd listener = child.take_listener();
    EXPECT_TRUE(listener.is_open()) << "no seccomp listener can be had here";
    if (!listener.is_open()) return -1;
    refusals_.set_listener(std::move(listener));
    return child.serve([this] { return std::vector<int>{refusals_.listener()}; },
                       [this] { is_open_ = refusals_.answer(); });
  }

  DenialLedger denials_;
  Refusals refusals_{denials_};
  bool is_open_ = true;
};

TEST_F(RefusalsTest, ARefusedCallGetsEpermAndIsCountedByItsProgram) {
  Filtered child({SYS_mount}, [] {
    set_own_name("prober");
    try_to_mount();
    return try_to_mount();
  });
  EXPECT_EQ(serve(child), EPERM);
  EXPECT_EQ(denials_.entries(), (std::vector<Denial>{{Refuser::kSeccomp, "mount", "", 2, "prober",
                                                      "seccomp.allow += [\"mount\"]"}}));
}

TEST_F(RefusalsTest, ProgramsBeyondTheBoundAreCountedAsOthersOfTheirCall) {
  Filtered child({SYS_mount, SYS_umount2}, [] {
    for (int i = 0; i < 300; ++i) {
      set_own_name("p" + std::to_string(i));
      try_to_mount();
    }
    umount2("/nowhere", 0);
    return 7;
  });
  EXPECT_EQ(serve(child), 7);
  const auto entries = denials_.entries();
  ASSERT_EQ(entries.size(), 258U);
  EXPECT_EQ(entries[128].program, "p128");
  EXPECT_EQ(entries[255].program, "p255");
  EXPECT_EQ(entries[255].count, 1U);
  EXPECT_EQ(entries[256], (Denial{Refuser::kSeccomp, "mount", "(others)", 44, "", ""}));
  EXPECT_EQ(entries[257], (Denial{Refuser::kSeccomp, "umount2", "(others)", 1, "", ""}));
}

TEST_F(RefusalsTest, ASetIdBitIsNamedAsWhatWasRefused) {
  Filtered child({SYS_fchmod}, [] { return fchmod(0, 04755) == 0 ? 0 : errno; });
  EXPECT_EQ(serve(child), EPERM);
  const auto entries = denials_.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].operation, "fchmod");
  EXPECT_EQ(entries[0].target, "a set-uid or set-gid bit");
}

TEST_F(RefusalsTest, AnIdThatIsNotMappedHasNoGrant) {
  refusals_.set_own_ids(OwnIds{1000, 1000});
  Filtered child({SYS_fchown}, [] { return fchown(0, 4711, 1000) == 0 ? 0 : errno; });
  EXPECT_EQ(serve(child), EPERM);
  const auto entries = denials_.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].target, "an owner or group that is not mapped inside");
  EXPECT_EQ(entries[0].grant, "");
}

TEST_F(RefusalsTest, WhatTheKernelRefusesAllTheSameHasNoGrant) {
  Filtered child({SYS_socket, SYS_unshare, SYS_clone, SYS_sethostname}, [] {
    (void)!sethostname("x", 1);
    socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1);
    socket(AF_PACKET, SOCK_DGRAM, 0);
    socket(AF_NETLINK, SOCK_RAW, 9);
    socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    unshare(CLONE_FS);
    unshare(CLONE_NEWNS);
    syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, nullptr, nullptr, nullptr, 0);
    return unshare(CLONE_NEWUSER) == 0 ? 0 : errno;
  });
  EXPECT_EQ(serve(child), EPERM);
  const auto entries = denials_.entries();
  const bool is_root = geteuid() == 0;
  ASSERT_EQ(entries.size(), is_root ? 7U : 6U);
  EXPECT_EQ(entries[0].target, "what needs a capability, which no command has");
  EXPECT_EQ(entries[0].grant, "");
  EXPECT_EQ(entries[1].target, "a raw or packet socket");
  EXPECT_EQ(entries[1].grant, "");
  EXPECT_EQ(entries[1].count, 2U);
  EXPECT_EQ(entries[2].target, "AF_NETLINK, protocol 9");
  EXPECT_EQ(entries[2].grant, "seccomp.allow += [\"socket\"]");
  EXPECT_EQ(entries[3].target, "AF_UNIX, SOCK_DGRAM");
  EXPECT_EQ(entries[3].grant, "");
  EXPECT_EQ(entries[4].grant, "seccomp.allow += [\"unshare\"]");
  // Of those that make a namespace, of root's.
  EXPECT_EQ(entries[4].count, is_root ? 1U : 3U);
  if (is_root) {
    EXPECT_EQ(entries[5].target, "a namespace, which no command of root's may make");
    EXPECT_EQ(entries[5].count, 2U);
    EXPECT_EQ(entries[5].grant, "");
  }
  EXPECT_EQ(entries.back().operation, "clone");
  EXPECT_EQ(entries.back().grant, is_root ? "" : "seccomp.allow += [\"clone\"]");
}

TEST_F(RefusalsTest, WhatNeedsACapabilityOfTheMachinesHasNoGrant) {
  Filtered child({SYS_clock_settime, SYS_fsopen, SYS_swapoff, SYS_adjtimex}, [] {
    syscall(SYS_clock_settime, -1, nullptr);
    syscall(SYS_fsopen, nullptr, 0);
    syscall(SYS_swapoff, nullptr);
    return syscall(SYS_adjtimex, nullptr) == 0 ? 0 : errno;
  });
  EXPECT_EQ(serve(child), EPERM);
  const auto entries = denials_.entries();
  ASSERT_EQ(entries.size(), 4U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(entries[i].target, "what needs a capability, which no command has");
    EXPECT_EQ(entries[i].grant, "");
  }
  EXPECT_EQ(entries[3].grant, "seccomp.allow += [\"adjtimex\"]");  // anybody may ask
}

TEST_F(RefusalsTest, ALeaseIsNamed) {
  Filtered child({SYS_fcntl}, [] { return fcntl(0, F_SETLEASE, F_RDLCK) == 0 ? 0 : errno; });
  EXPECT_EQ(serve(child), EPERM);
  const auto entries = denials_.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].target, "a lease");
  EXPECT_EQ(entries[0].grant, "seccomp.allow += [\"fcntl\"]");
}

TEST_F(RefusalsTest, AnObservedCallIsShownAndGoesOn) {
  int seen = 0;
  refusals_.observe({SYS_umask}, [&](const sys::SeccompNotif& call) {
    ++seen;
    EXPECT_EQ(call.data.args[0], 0123U);
    EXPECT_TRUE(refusals_.is_waiting(call.id));
    refusals_.let_go_on(call.id);
  });
  Filtered child({SYS_umask}, [] {
    umask(0123);
    return umask(0123) == 0123 ? 5 : 6;
  });
  EXPECT_EQ(serve(child), 5);
  EXPECT_EQ(seen, 2);
  EXPECT_TRUE(denials_.entries().empty());
}

TEST_F(RefusalsTest, AFaultOfAnObservedCallIsRefusedAllTheSame) {
  refusals_.observe({SYS_fchmod},
                    [&](const sys::SeccompNotif& call) { refusals_.let_go_on(call.id); });
  Filtered child({SYS_fchmod}, [] { return fchmod(0, 02755) == 0 ? 0 : errno; });
  EXPECT_EQ(serve(child), EPERM);
  EXPECT_EQ(denials_.entries().size(), 1U);
}

TEST_F(RefusalsTest, AMediatedConnectGetsTheMediatorsError) {
  refusals_.mediate_connect([](const sys::SeccompNotif&) { return ENETUNREACH; });
  Filtered child({SYS_connect}, [] { return connect(-1, nullptr, 0) == 0 ? 0 : errno; });
  EXPECT_EQ(serve(child), ENETUNREACH);
  EXPECT_TRUE(denials_.entries().empty());
}

TEST_F(RefusalsTest, AMediatorMayAnswerLater) {
  std::optional<std::uint64_t> waits;
  refusals_.mediate_connect([&](const sys::SeccompNotif& call) {
    waits = call.id;
    return std::nullopt;
  });
  Filtered child({SYS_connect}, [] { return connect(-1, nullptr, 0) == 0 ? 0 : errno; });
  refusals_.set_listener(child.take_listener());
  const int status = child.serve([this] { return std::vector<int>{refusals_.listener()}; },
                                 [&] {
                                   refusals_.answer();
                                   if (!waits) return;
                                   EXPECT_TRUE(refusals_.is_waiting(*waits));
                                   refusals_.respond(*waits, EACCES);
                                   EXPECT_FALSE(refusals_.is_waiting(*waits));
                                   waits.reset();
                                 });
  EXPECT_EQ(status, EACCES);
}

TEST_F(RefusalsTest, ACallerThatHasGoneDoesNotWait) {
  std::optional<std::uint64_t> waits;
  refusals_.mediate_connect([&](const sys::SeccompNotif& call) {
    waits = call.id;
    return std::nullopt;
  });
  Filtered child({SYS_connect}, [] { return connect(-1, nullptr, 0); });
  refusals_.set_listener(child.take_listener());
  const int status = child.serve([this] { return std::vector<int>{refusals_.listener()}; },
                                 [&] {
                                   refusals_.answer();
                                   if (waits) child.kill();
                                 });
  EXPECT_EQ(status, 128 + SIGKILL);
  ASSERT_TRUE(waits);
  EXPECT_FALSE(refusals_.is_waiting(*waits));
  refusals_.respond(*waits, 0);  // to nobody
}

#if defined(__x86_64__)
long by_i386(long number) {
  long result = number;
  asm volatile("int $0x80" : "+a"(result) : "b"(0) : "memory", "r8", "r9", "r10", "r11");
  return result;
}
bool runs_i386() {
  const pid_t child = fork();
  if (child == 0) _exit(by_i386(20) > 0 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

constexpr int kTime = 13;  // of i386
Denial foreign(const char* what) {
  return {Refuser::kSeccomp, "foreign_architecture", what, 1, "prober", ""};
}

TEST_F(RefusalsTest, AForeignCallEndsTheProcessAndIsCounted) {
  if (!runs_i386()) GTEST_SKIP() << "this kernel runs no i386 calls";
  // As one that is observed, and as one that is mediated, by the numbers of this architecture.
  refusals_.observe({SYS_umask}, [&](const auto& call) { refusals_.let_go_on(call.id); });
  refusals_.mediate_connect([](const sys::SeccompNotif&) { return 0; });
  std::vector<Denial> wanted;
  for (const auto& [number, name] :
       {std::pair{SYS_connect, "i386 pipe"}, {SYS_umask, "i386 fchown"}, {kTime, "i386 time"}}) {
    Filtered child({}, [number = number] {
      set_own_name("prober");
      by_i386(number);
      return 7;
    });
    EXPECT_EQ(serve(child), 128 + SIGSYS) << name;
    wanted.push_back(foreign(name));
  }
  EXPECT_EQ(denials_.entries(), wanted);
}

TEST_F(RefusalsTest, AForeignCallEndsAProcessThatHoldsSigsysOff) {
  if (!runs_i386()) GTEST_SKIP() << "this kernel runs no i386 calls";
  for (const auto how : {SIG_BLOCK, 100, 101}) {
    Filtered child({}, [how] {
      set_own_name("prober");
      sigset_t set;
      sigemptyset(&set);
      sigaddset(&set, SIGSYS);
      if (how == SIG_BLOCK) sigprocmask(SIG_BLOCK, &set, nullptr);
      if (how == 100) signal(SIGSYS, SIG_IGN);
      if (how == 101) signal(SIGSYS, [](int) {});
      return by_i386(kTime) == -EPERM ? 7 : 8;
    });
    EXPECT_EQ(serve(child), 128 + SIGKILL) << how;
  }
  ASSERT_EQ(denials_.entries().size(), 1U);
  EXPECT_EQ(denials_.entries()[0].count, 3U);
}

TEST_F(RefusalsTest, AForeignCallOfAThreadEndsItsProcess) {
  if (!runs_i386()) GTEST_SKIP() << "this kernel runs no i386 calls";
  Filtered child({}, [] {
    std::thread thread([] { by_i386(kTime); });
    thread.join();
    pause();
    return 7;
  });
  EXPECT_EQ(serve(child), 128 + SIGSYS);
}
#endif

TEST_F(RefusalsTest, SaysWhenTheLastTaskHasGone) {
  Filtered child({SYS_mount}, [] { return try_to_mount(); });
  EXPECT_EQ(serve(child), EPERM);
  EXPECT_FALSE(refusals_.answer());
}

TEST(ProgramName, IsTheOneThatTheProcessGaveItself) {
  Filtered child({}, [] {
    set_own_name("a\x1b[1m");
    pause();
    return 0;
  });
  std::string name;
  child.serve([] { return std::vector<int>{}; },
              [&] {
                name = program_name(static_cast<std::uint32_t>(child.pid()));
                if (name == "a\x1b[1m") child.kill();
              });
  EXPECT_EQ(name, "a\x1b[1m");
  EXPECT_EQ(program_name(static_cast<std::uint32_t>(child.pid())), "");  // it has gone
}

}  // namespace
}  // namespace sbx
