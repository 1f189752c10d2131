// SPDX-License-Identifier: Apache-2.0
// What is left to a process in the jail, each layer for itself: the filter, and what would hold
// were it to let a call through.
#include "jail/jail.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <initializer_list>
#include <vector>

namespace sbx {
namespace {

constexpr int kNoJail = 125;
constexpr int kSignal = 200;  // and its number

// How a child ended that did this; its exit status is below `kNoJail`.
int child_that(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignal + WTERMSIG(status);
}

// What `look` answers in the jail, whose filter lets `more` through.
int jailed(std::initializer_list<int> more, const std::function<int()>& look) {
  const pid_t parent = getpid();
  return child_that([&] {
    // The latter two are a sanitizer's.
    std::vector<int> calls{SYS_exit_group, SYS_write, SYS_getpid, SYS_munmap, SYS_sigaltstack};
    calls.insert(calls.end(), more);
    if (!close_off(parent).ok() || !enter_jail(calls).ok()) return kNoJail;
    return look();
  });
}

int error_of(long answer) { return answer < 0 ? errno : 0; }

bool has_landlock() {
  return syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U /* VERSION */) > 0;
}

class Jail : public testing::Test {
 protected:
  void SetUp() override {
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) GTEST_SKIP() << "no filters here";
  }
};

TEST_F(Jail, TakesNoCallThatWasNotListed) {
  EXPECT_EQ(jailed({}, [] { return getpid() > 0 ? 0 : 1; }), 0);
  EXPECT_EQ(jailed({}, [] { return error_of(socket(AF_INET, SOCK_STREAM, 0)); }), EPERM);
  EXPECT_EQ(jailed({}, [] { return error_of(open("/", O_RDONLY)); }), EPERM);
  EXPECT_EQ(jailed({}, [] { return error_of(fork()); }), EPERM);
  EXPECT_EQ(jailed({}, [] { return error_of(kill(getpid(), 0)); }), EPERM);
  EXPECT_EQ(jailed({}, [] { return error_of(syscall(SYS_execve, "/", nullptr, nullptr)); }), EPERM);
}

TEST_F(Jail, HasNoMemoryThatIsCode) {
  constexpr std::size_t kSize = 4096;
  const auto map = [](int protection) {
    return mmap(nullptr, kSize, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  const auto mapped = [&](int protection) { return map(protection) == MAP_FAILED ? errno : 0; };
  EXPECT_EQ(jailed({}, [&] { return mapped(PROT_READ | PROT_WRITE); }), 0);
  EXPECT_EQ(jailed({}, [&] { return mapped(PROT_READ | PROT_EXEC); }), EPERM);
  void* const page = map(PROT_READ | PROT_WRITE);
  ASSERT_NE(page, MAP_FAILED);
  const auto change = [&](int protection) { return error_of(mprotect(page, kSize, protection)); };
  EXPECT_EQ(jailed({}, [&] { return change(PROT_READ); }), 0);
  EXPECT_EQ(jailed({}, [&] { return change(PROT_READ | PROT_EXEC); }), EPERM);
  munmap(page, kSize);
}

TEST_F(Jail, SetsNoOptionOfASocketButHowItEnds) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const linger abort{1, 0};
  const auto set = [&](int level, int name) {
    return error_of(setsockopt(fd, level, name, &abort, sizeof abort));
  };
  EXPECT_EQ(jailed({}, [&] { return set(SOL_SOCKET, SO_LINGER); }), 0);
  EXPECT_EQ(jailed({}, [&] { return set(SOL_SOCKET, SO_REUSEADDR); }), EPERM);
  EXPECT_EQ(jailed({}, [&] { return set(IPPROTO_IP, SO_LINGER); }), EPERM);
  close(fd);
}

TEST_F(Jail, HasNoFilesByLandlock) {
  if (!has_landlock()) GTEST_SKIP() << "no Landlock here";
  EXPECT_EQ(jailed({SYS_openat}, [] { return error_of(open("/", O_RDONLY | O_DIRECTORY)); }),
            EACCES);
}

// Landlock lets be told what there is.
TEST_F(Jail, HasARootThatIsEmptyAndStaysSo) {
  const auto unshares = [] {
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 || unshare(CLONE_NEWNS) == 0 ? 0 : 1;
  };
  if (child_that(unshares) != 0) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_EQ(
      jailed({SYS_faccessat}, [] { return error_of(syscall(SYS_faccessat, -1, "/proc", F_OK)); }),
      ENOENT);
  EXPECT_EQ(jailed({SYS_statfs},
                   [] {
                     struct statfs info {};
                     constexpr long kFlags = ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC;
                     return statfs("/", &info) == 0 && (info.f_flags & kFlags) == kFlags ? 0 : 1;
                   }),
            0);
}

TEST_F(Jail, HasNoCapability) {
  EXPECT_EQ(jailed({SYS_capget},
                   [] {
                     __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
                     __user_cap_data_struct data[2] = {};
                     if (syscall(SYS_capget, &header, data) != 0) return 1;
                     return (data[0].permitted | data[1].permitted) == 0 ? 0 : 2;
                   }),
            0);
}

#if defined(__x86_64__)
// Its numbers mean other calls: 1 is to write here, and to end there.
TEST_F(Jail, TakesNoCallOfAnotherArchitecture) {
  const int ended = jailed({}, [] {
    long number = 1;
    asm volatile("int $0x80" : "+a"(number) : "b"(7L) : "memory");
    return 8;
  });
  // The latter: the kernel has none of it.
  EXPECT_TRUE(ended == kSignal + SIGSYS || ended == kSignal + SIGSEGV) << ended;
}
#endif

TEST_F(Jail, IsReadByNobodyOfTheSameUser) {
  EXPECT_EQ(jailed({SYS_prctl}, [] { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }), 0);
}

TEST_F(Jail, EndsWithItsParent) {
  const auto signal_at_its_end = [] {
    int number = 0;
    prctl(PR_GET_PDEATHSIG, &number, 0, 0, 0);
    return number;
  };
  EXPECT_EQ(jailed({SYS_prctl}, signal_at_its_end), SIGKILL);
  // It was gone before it could be asked to: nobody is the parent of itself.
  EXPECT_EQ(child_that([] { return close_off(getpid()).ok() ? 7 : 8; }), 0);
}

}  // namespace
}  // namespace sbx
