// SPDX-License-Identifier: Apache-2.0
#include "http/service.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <utility>

namespace sbx::http {
namespace {

// A message that came without its descriptors: the limit on open files was reached.
TEST(Service, SaysOfAConnectionWhoseSocketsHaveNotComeThatItCannotBeTaken) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  OwnedFd supervisor(ends[0]);
  Service service{OwnedFd(ends[1])};
  ASSERT_TRUE(service.open().ok());
  std::thread serves([&service] { service.run(); });
  ASSERT_TRUE(send_words(supervisor.get(), {"C", "7", "0", "a.test", "443"}));
  pollfd ready{supervisor.get(), POLLIN, 0};
  std::string said(64, '\0');
  const ssize_t size =
      poll(&ready, 1, 10'000) > 0 ? recv(supervisor.get(), said.data(), said.size(), 0) : 0;
  said.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  EXPECT_EQ(said, std::string("Z\0007\0000\0000", 7));
  supervisor.reset();
  serves.join();
}

}  // namespace
}  // namespace sbx::http
