// SPDX-License-Identifier: Apache-2.0
// Whose a socket is, asked about sockets of this process and of one in namespaces of its own.
#include "connect/unix_peers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "connect/sockets.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

using test::TempDir;
using test::unix_listener;
using Owner = UnixPeers::Owner;

struct stat stat_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info;
}

OwnedFd open_path(const std::string& path) {
  return OwnedFd(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

OwnedFd make_diag() {
  return OwnedFd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
}

// A process that has done what `enter` says and waits for its end.
class Elsewhere {
 public:
  explicit Elsewhere(int namespaces) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    const OwnedFd read_end(ends[0]);
    OwnedFd write_end(ends[1]);
    // Raw: a child of its own pid namespace from the beginning.
    pid_ = static_cast<pid_t>(
        syscall(SYS_clone, namespaces | CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0));
    if (pid_ == 0) {
      // One end of a pair shows that a socket of its network namespace is there.
      diag_ = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
      const char byte = static_cast<char>(diag_);
      if (write(ends[1], &byte, 1) != 1) _exit(1);
      for (;;) pause();
    }
    write_end.reset();
    char byte = 0;
    if (pid_ < 0 || read(read_end.get(), &byte, 1) != 1) return;
    const OwnedFd process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    diag.reset(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), byte, 0)));
  }
  ~Elsewhere() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  OwnedFd diag;  // its own; not open where there can be no such namespaces

 private:
  pid_t pid_ = -1;
  int diag_ = -1;
};

TEST(UnixPeers, AListedSocketIsTheOneAtItsPath) {
  const TempDir directory;
  const OwnedFd first = unix_listener(directory.at("listed"));
  const OwnedFd second = unix_listener(directory.at("other"));
  const UnixPeers peers({directory.at("listed"), directory.at("missing")}, {});
  EXPECT_EQ(peers.own_or_listed(stat_of(directory.at("listed"))), Owner::kListed);
  EXPECT_EQ(peers.own_or_listed(stat_of(directory.at("other"))), std::nullopt);
  // A server that starts anew binds anew.
  ASSERT_EQ(rename(directory.at("other").c_str(), directory.at("listed").c_str()), 0);
  EXPECT_EQ(peers.own_or_listed(stat_of(directory.at("listed"))), Owner::kListed);
}

TEST(UnixPeers, InAWritableRootOnlyTheFileOfTheStartIsListed) {
  const TempDir directory;
  const OwnedFd first = unix_listener(directory.at("listed"));
  const OwnedFd second = unix_listener(directory.at("other"));
  const UnixPeers peers({directory.at("listed"), directory.at("missing")}, {directory.path()});
  EXPECT_EQ(peers.own_or_listed(stat_of(directory.at("listed"))), Owner::kListed);
  // The command may put another one of the host's there.
  ASSERT_EQ(rename(directory.at("other").c_str(), directory.at("listed").c_str()), 0);
  EXPECT_EQ(peers.own_or_listed(stat_of(directory.at("listed"))), std::nullopt);
  ASSERT_EQ(rename(directory.at("listed").c_str(), directory.at("missing").c_str()), 0);
  EXPECT_EQ(peers.own_or_listed(stat_of(directory.at("missing"))), std::nullopt);
}

TEST(UnixPeers, WhatLiesOnThePrivateTmpfsWasMadeInside) {
  const TempDir directory;
  const OwnedFd listener = unix_listener(directory.at("s"));
  UnixPeers peers({}, {});
  EXPECT_EQ(peers.own_or_listed(stat_of(directory.at("s"))), std::nullopt);
  peers.set_scratch(-1);
  EXPECT_EQ(peers.own_or_listed(stat_of(directory.at("s"))), std::nullopt);
  peers.set_scratch(open_path(directory.path()).get());
  EXPECT_EQ(peers.own_or_listed(stat_of(directory.at("s"))), Owner::kInside);
  EXPECT_EQ(peers.own_or_listed(stat_of("/proc/self/status")), std::nullopt);
}

TEST(UnixPeers, ASocketThatIsBoundInTheNamespaceIsInside) {
  const TempDir directory;
  OwnedFd listener = unix_listener(directory.at("s"));
  const OwnedFd path = open_path(directory.at("s"));
  const struct stat info = stat_of(directory.at("s"));
  const OwnedFd diag = make_diag();
  EXPECT_EQ(UnixPeers::owner_by_namespace(diag.get(), path.get(), info, getpid()), Owner::kInside);
  // Asked again on the same socket, the answer is not the rest of the last one.
  EXPECT_EQ(UnixPeers::owner_by_namespace(diag.get(), path.get(), info, getpid()), Owner::kInside);
  listener.reset();
  EXPECT_EQ(UnixPeers::owner_by_namespace(diag.get(), path.get(), info, getpid()), Owner::kNobody);
}

TEST(UnixPeers, ASocketThatIsBoundInAnotherNamespaceIsTheHosts) {
  const Elsewhere sandbox(CLONE_NEWNET);
  if (!sandbox.diag.is_open()) GTEST_SKIP() << "no network namespace can be had here";
  const TempDir directory;
  OwnedFd listener = unix_listener(directory.at("s"));
  const OwnedFd path = open_path(directory.at("s"));
  const struct stat info = stat_of(directory.at("s"));
  EXPECT_EQ(UnixPeers::owner_by_namespace(sandbox.diag.get(), path.get(), info, sandbox.pid()),
            Owner::kHost);
  listener.reset();
  EXPECT_EQ(UnixPeers::owner_by_namespace(sandbox.diag.get(), path.get(), info, sandbox.pid()),
            Owner::kNobody);
}

TEST(UnixPeers, WhereTheKernelCannotTellNothingIsKnown) {
  const TempDir directory;
  const OwnedFd listener = unix_listener(directory.at("s"));
  const OwnedFd path = open_path(directory.at("s"));
  EXPECT_EQ(UnixPeers::owner_by_namespace(-1, path.get(), stat_of(directory.at("s")), getpid()),
            std::nullopt);
}

TEST(ListensInside, IsAskedOfTheProcessesOfThePidNamespace) {
  const Elsewhere sandbox(CLONE_NEWPID);  // before there is anything that it would hold as well
  const TempDir directory;
  const std::string name = std::string(1, '\0') + directory.path();  // as unique as that
  OwnedFd by_path = unix_listener(directory.at("s"));
  OwnedFd by_name = unix_listener(name);
  const struct stat info = stat_of(directory.at("s"));
  EXPECT_TRUE(listens_inside(info, getpid()));
  EXPECT_TRUE(listens_inside(name, getpid()));
  EXPECT_FALSE(listens_inside(name + "x", getpid()));
  if (sandbox.diag.is_open()) {
    EXPECT_FALSE(listens_inside(info, sandbox.pid()));
    EXPECT_FALSE(listens_inside(name, sandbox.pid()));
  }
  by_path.reset();
  by_name.reset();
  EXPECT_FALSE(listens_inside(info, getpid()));
  EXPECT_FALSE(listens_inside(name, getpid()));
}

TEST(ListensInside, ASocketThatDoesNotListenHasNobody) {
  const TempDir directory;
  const OwnedFd bound = test::unix_socket();
  const test::UnixAddress address = test::unix_address(directory.at("s"));
  ASSERT_EQ(bind(bound.get(), address.get(), address.length), 0);
  EXPECT_FALSE(listens_inside(stat_of(directory.at("s")), getpid()));
}

TEST(UnixPeers, TellOfServicesAndOfWhatTheTextNames) {
  UnixPeers peers({}, {});
  for (const char* path : {"/run/docker.sock", "/var/run/docker.sock", "/tmp/.X11-unix/X0"}) {
    EXPECT_TRUE(peers.may_tell(path)) << path;
  }
  for (const char* path : {"", "docker.sock", "/var/docker.sock", "/run/docker.soc", "/run/x"}) {
    EXPECT_FALSE(peers.may_tell(path)) << path;
  }
  peers.set_told({"curl --unix-socket /run/x http://a/ run/y", false});
  EXPECT_TRUE(peers.may_tell("/run/x"));
  EXPECT_FALSE(peers.may_tell("run/y"));
  EXPECT_FALSE(peers.may_tell("/run/z"));
  peers.set_told({"", true});
  EXPECT_TRUE(peers.may_tell("/run/z"));
}

}  // namespace
}  // namespace sbx
