// SPDX-License-Identifier: Apache-2.0
// Terminals with processes of the test's own: what is reached is theirs, whatever numbers say.
#include "session/shell_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "sys/calls.h"

namespace sbx {
namespace {

// A process of the test's, which is ended with it.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : pid_(fork()) {
    if (pid_ != 0) return;
    body();
    for (;;) pause();
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

struct Pty {
  Pty() {
    int a = -1;
    int b = -1;
    EXPECT_EQ(openpty(&a, &b, nullptr, nullptr, nullptr), 0);
    master.reset(a);
    slave.reset(b);
  }
  // The caller leads the terminal's session, and is in its foreground.
  void lead() const {
    setsid();
    ioctl(slave.get(), TIOCSCTTY, 0);
  }
  OwnedFd master;
  OwnedFd slave;
};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  void tell(char what = 'x') const { (void)!::write(write.get(), &what, 1); }
  // '\0': nothing in half a minute.
  char hear() const {
    struct pollfd ready {
      read.get(), POLLIN, 0
    };
    char byte = 0;
    return poll(&ready, 1, 30'000) == 1 && ::read(read.get(), &byte, 1) == 1 ? byte : '\0';
  }
  OwnedFd read;
  OwnedFd write;
};

// A new group of the caller's session, in the foreground.
pid_t foreground(const Pty& pty, const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    body();
    _exit(0);
  }
  setpgid(pid, pid);
  tcsetpgrp(pty.slave.get(), pid);
  return pid;
}

class ShellProcessTest : public testing::Test {
 protected:
  // A shell in the foreground, with the descriptors that are open by now.
  void find_shell() {
    shell_.emplace([&] {
      pty_.lead();
      ready_.tell();
    });
    ready_.hear();
    ASSERT_TRUE(process_.find(pty_.master.get()));
  }

  Pty pty_;
  Pipe ready_;
  Pipe theirs_;  // whose descriptors have the same numbers in each child
  std::optional<Child> shell_;
  ShellProcess process_;
};

TEST_F(ShellProcessTest, OpensAPipeOfTheOneInTheForeground) {
  ASSERT_NO_FATAL_FAILURE(find_shell());
  EXPECT_EQ(process_.pid(), shell_->pid());
  const Result<OwnedFd> pipe = process_.open_pipe(theirs_.read.get(), O_RDWR);
  ASSERT_TRUE(pipe.ok());
  EXPECT_NE(fcntl(pipe.value().get(), F_GETFL) & O_NONBLOCK, 0);
  theirs_.tell('y');
  char byte = 0;
  EXPECT_EQ(read(pipe.value().get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
}

TEST_F(ShellProcessTest, OpensNothingThatIsNoPipe) {
  const OwnedFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  const OwnedFd regular(open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  const OwnedFd link(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_NO_FATAL_FAILURE(find_shell());
  for (const int fd : {file.get(), regular.get(), link.get(), pty_.slave.get(), 9999, -1}) {
    EXPECT_FALSE(process_.open_pipe(fd, O_RDWR).ok()) << fd;
  }
}

// It may be the host's, shown read-only.
TEST_F(ShellProcessTest, OpensNoFifoThatHasAName) {
  std::string directory = "/tmp/sbx-fifo-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const OwnedFd host(open(path.c_str(), O_RDWR | O_CLOEXEC));
  const OwnedFd fifo(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  unlink(path.c_str());
  rmdir(directory.c_str());
  ASSERT_NO_FATAL_FAILURE(find_shell());
  ASSERT_TRUE(fifo.is_open());
  for (const int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
    EXPECT_FALSE(process_.open_pipe(fifo.get(), flags).ok()) << flags;
  }
}

// As when its number is another process's by now.
TEST_F(ShellProcessTest, OpensNothingOfAnotherSession) {
  const Pty other;
  const Child shell([&] {
    pty_.lead();
    ready_.tell();
  });
  const Child stranger([&] {
    other.lead();
    ready_.tell();
  });
  ready_.hear();
  ready_.hear();
  ShellProcess process;
  ASSERT_TRUE(process.find(pty_.master.get()));
  ASSERT_GE(dup2(other.master.get(), pty_.master.get()), 0);
  EXPECT_FALSE(process.open_pipe(theirs_.read.get(), O_RDONLY).ok());
}

TEST_F(ShellProcessTest, OpensNothingOfOneThatHasEnded) {
  Child shell([&] {
    pty_.lead();
    ready_.tell();
  });
  ready_.hear();
  ShellProcess process;
  ASSERT_TRUE(process.find(pty_.master.get()));
  shell.end();
  EXPECT_FALSE(process.open_pipe(theirs_.read.get(), O_RDONLY).ok());
}

TEST_F(ShellProcessTest, EndsACommandWhoseFirstProcessHasGone) {
  const Pipe go;
  const Pipe ended;
  const Child shell([&] {
    pty_.lead();
    ready_.tell('s');
    go.hear();
    const pid_t first = foreground(pty_, [&] { theirs_.hear(); });
    const pid_t second = fork();
    if (second == 0) {
      setpgid(0, first);
      for (;;) pause();
    }
    setpgid(second, first);
    theirs_.tell();
    waitpid(first, nullptr, 0);
    ready_.tell('c');
    waitpid(second, nullptr, 0);
    ended.tell('e');
  });
  ASSERT_EQ(ready_.hear(), 's');
  ShellProcess process;
  ASSERT_TRUE(process.find(pty_.master.get()));
  EXPECT_TRUE(process.is_alone());
  process.kill_front({});  // not the shell itself
  go.tell();
  ASSERT_EQ(ready_.hear(), 'c');
  EXPECT_FALSE(process.has_foreground());
  EXPECT_FALSE(process.is_alone());
  process.kill_front({});
  EXPECT_EQ(ended.hear(), 'e');
}

// A process of this number in the namespace that is the caller's own; -1 where that cannot be.
pid_t fork_as(pid_t number) {
  sys::CloneArgs args{};
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<std::uintptr_t>(&number);
  args.set_tid_size = 1;
  return static_cast<pid_t>(sys::clone3(args));
}

enum Answer { kSpared = 0, kKilled = 1, kWrong = 2, kCannot = 77 };

// The terminal goes on naming a group that has gone. Another session has its number by now.
Answer kill_a_number_of_anothers(const Pty& pty) {
  const Pipe ready;
  const Pipe go;
  const pid_t shell = fork();
  if (shell == 0) {
    pty.lead();
    ready.tell();
    go.hear();
    const pid_t command = foreground(pty, [] {});
    waitpid(command, nullptr, 0);
    (void)!write(ready.write.get(), &command, sizeof command);
    for (;;) pause();
  }
  ready.hear();
  ShellProcess process;
  if (!process.find(pty.master.get())) return kWrong;
  go.tell();
  pid_t number = -1;
  if (read(ready.read.get(), &number, sizeof number) != sizeof number) return kWrong;
  const pid_t stranger = fork_as(number);
  if (stranger == 0) {
    setsid();
    ready.tell();
    go.hear();
    _exit(kSpared);
  }
  if (stranger < 0) return kCannot;
  ready.hear();
  if (stranger != number || tcgetpgrp(pty.master.get()) != number) return kWrong;
  process.kill_front({});
  go.tell();
  int status = 0;
  waitpid(stranger, &status, 0);
  return WIFEXITED(status) ? kSpared : kKilled;
}

TEST_F(ShellProcessTest, SparesWhoHasTheNumberOfAGroupThatHasGone) {
  const pid_t outside = fork();
  if (outside == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(kCannot);
    const pid_t first = fork();  // PID 1: with it all others end
    if (first == 0) _exit(kill_a_number_of_anothers(pty_));
    int status = 0;
    waitpid(first, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : kWrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(outside, &status, 0), outside);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannot) GTEST_SKIP() << "no process can be given a number here";
  EXPECT_EQ(WEXITSTATUS(status), kSpared);
}

}  // namespace
}  // namespace sbx
