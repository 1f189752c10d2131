// SPDX-License-Identifier: Apache-2.0
// The steps of an errand, made for this thread's own calls.
#include "connect/errand.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <string>

#include "connect/sockets.h"
#include "support/temp_dir.h"

namespace sbx {
namespace {

using test::TempDir;
using test::unix_listener;
using test::unix_socket;
using test::UnixAddress;

// What it opens is left to the end of a process: here, of the test.
class ErrandTest : public ::testing::Test {
 protected:
  ~ErrandTest() override {
    for (const int fd : {errand_->socket, errand_->path}) {
      if (fd >= 0) close(fd);
    }
  }
  int look_at(int fd, const void* address, socklen_t length) {
    errand_->call = {1, gettid(), fd, reinterpret_cast<std::uint64_t>(address), length};
    return look(*errand_, peers_);
  }
  int look_at(const OwnedFd& fd, const UnixAddress& address) {
    return look_at(fd.get(), &address.address, address.length);
  }

  const TempDir directory_;
  UnixPeers peers_{{directory_.at("listed")}, {}};
  std::unique_ptr<Errand> errand_ = std::make_unique<Errand>();
};

TEST_F(ErrandTest, CopiesTheAddressAndFetchesTheSocket) {
  const OwnedFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  SocketAddress address = to_sockaddr({ipv4(192, 0, 2, 1), 80});
  ASSERT_EQ(look_at(socket.get(), &address.storage, address.length), 0);
  address = {};  // another one by now
  EXPECT_EQ(from_sockaddr(errand_->address), (Endpoint{ipv4(192, 0, 2, 1), 80}));
  EXPECT_EQ(errand_->domain, AF_INET);
  EXPECT_EQ(errand_->type, SOCK_STREAM);
  EXPECT_NE(errand_->socket, socket.get());
  EXPECT_EQ(errand_->path, -1);
  EXPECT_FALSE(errand_->has_unix_name());
}

TEST_F(ErrandTest, AnswersAsConnectWould) {
  const SocketAddress address = to_sockaddr({ipv4(192, 0, 2, 1), 80});
  EXPECT_EQ(look_at(9999, &address.storage, address.length), EBADF);
  const OwnedFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(look_at(file.get(), &address.storage, address.length), ENOTSOCK);
  const OwnedFd socket = unix_socket();
  EXPECT_EQ(look_at(socket.get(), reinterpret_cast<void*>(8), 16), EFAULT);
}

TEST_F(ErrandTest, LooksAPathUpAndPinsIt) {
  const OwnedFd listener = unix_listener(directory_.at("s"));
  ASSERT_EQ(look_at(unix_socket(), test::unix_address(directory_.at("s"))), 0);
  EXPECT_TRUE(errand_->has_unix_name());
  EXPECT_EQ(errand_->unix_name(), directory_.at("s"));
  EXPECT_GE(errand_->path, 0);
  EXPECT_TRUE(S_ISSOCK(errand_->info.st_mode));
  EXPECT_FALSE(errand_->owner);  // to be found out
}

TEST_F(ErrandTest, KnowsAListedSocketAtOnce) {
  const OwnedFd listener = unix_listener(directory_.at("listed"));
  directory_.symlink("link", "listed");
  ASSERT_EQ(look_at(unix_socket(), test::unix_address(directory_.at("link"))), 0);
  EXPECT_EQ(errand_->owner, UnixPeers::Owner::kListed);
}

TEST_F(ErrandTest, ARelativePathBeginsAtTheCallersDirectory) {
  const OwnedFd listener = unix_listener(directory_.at("s"));
  char before[PATH_MAX] = "";
  ASSERT_NE(getcwd(before, sizeof before), nullptr);
  ASSERT_EQ(chdir(directory_.path().c_str()), 0);
  const int error = look_at(unix_socket(), test::unix_address("./s"));
  ASSERT_EQ(chdir(before), 0);
  ASSERT_EQ(error, 0);
  EXPECT_EQ(std::string(errand_->absolute), directory_.path() + "/./s");
}

TEST_F(ErrandTest, AWayByALinkOfTheCallersOwnIsTheCallers) {
  const OwnedFd listener = unix_listener(directory_.at("s"));
  const OwnedFd top(open(directory_.path().c_str(), O_PATH | O_CLOEXEC));
  const OwnedFd socket(open(directory_.at("s").c_str(), O_PATH | O_CLOEXEC));
  const auto at = [this](const std::string& way) {
    const int error = look_at(unix_socket(), test::unix_address(way));
    return error == 0 ? std::string(errand_->absolute) : std::to_string(error);
  };
  const std::string fd = "/fd/" + std::to_string(top.get());
  for (const std::string front : {"/proc/self", "/proc/thread-self", "/dev"}) {
    EXPECT_EQ(at(front + fd + "/s"), directory_.path() + "//s");
    EXPECT_EQ(at(front + "/fd/" + std::to_string(socket.get())), directory_.at("s"));
  }
  EXPECT_EQ(at("/proc/self/root" + directory_.at("s")), "//" + directory_.at("s"));
  EXPECT_EQ(at("/proc/self/fd/99999/s"), std::to_string(ENOENT));
  EXPECT_EQ(at("/proc/self/task" + fd + "/s"), std::to_string(ENOENT));
  // The link of another process.
  EXPECT_EQ(at("/proc/" + std::to_string(getpid()) + fd + "/s"), std::to_string(EACCES));
}

TEST_F(ErrandTest, APathThatIsNoSocketIsRefused) {
  EXPECT_EQ(look_at(unix_socket(), test::unix_address(directory_.at("missing"))), ENOENT);
  directory_.file("file", "x");
  EXPECT_EQ(look_at(unix_socket(), test::unix_address(directory_.at("file"))), ECONNREFUSED);
  EXPECT_EQ(look_at(unix_socket(), test::unix_address(directory_.at("file/x"))), ENOTDIR);
}

TEST_F(ErrandTest, AnAbstractNameKeepsItsZero) {
  const std::string name = std::string(1, '\0') + "name";
  ASSERT_EQ(look_at(unix_socket(), test::unix_address(name)), 0);
  EXPECT_TRUE(errand_->has_unix_name());
  EXPECT_EQ(errand_->unix_name(), name);
  EXPECT_EQ(errand_->path, -1);
}

TEST_F(ErrandTest, FindsTheOwnerByWhoHoldsTheSocket) {
  const std::string name = std::string(1, '\0') + directory_.path();
  OwnedFd listener = unix_listener(name);
  ASSERT_EQ(look_at(unix_socket(), test::unix_address(name)), 0);
  ASSERT_EQ(find_owner(*errand_, peers_, -1), 0);
  EXPECT_EQ(errand_->owner, UnixPeers::Owner::kInside);
  listener.reset();
  ASSERT_EQ(find_owner(*errand_, peers_, -1), 0);
  EXPECT_EQ(errand_->owner, UnixPeers::Owner::kHost);
}

TEST_F(ErrandTest, ConnectsToTheInodeThatWasLookedAt) {
  const OwnedFd first = unix_listener(directory_.at("s"));
  const OwnedFd second = unix_listener(directory_.at("other"));
  const OwnedFd client = unix_socket();
  const UnixAddress address = test::unix_address(directory_.at("s"));
  // A process of its own, as ever: it gives its capabilities up.
  const pid_t pid = fork();
  if (pid == 0) {
    if (look_at(client, address) != 0) _exit(1);
    if (rename(directory_.at("other").c_str(), directory_.at("s").c_str()) != 0) _exit(2);
    _exit(make_connect(*errand_) == 0 ? 0 : 3);
  }
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(test::has_client(first));
  EXPECT_FALSE(test::has_client(second));
}

}  // namespace
}  // namespace sbx
