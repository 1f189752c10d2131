// SPDX-License-Identifier: Apache-2.0
// Sockets of this process, for tests of what a command connects to.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

#include "base/files.h"
#include "base/owned_fd.h"
#include "gateway/address.h"

namespace sbx::test {

struct UnixAddress {
  sockaddr_un address{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// A path, or an abstract name with its leading zero.
inline UnixAddress unix_address(const std::string& name) {
  UnixAddress made;
  made.address.sun_family = AF_UNIX;
  EXPECT_LT(name.size(), sizeof made.address.sun_path);
  std::memcpy(made.address.sun_path, name.data(), name.size());
  const std::size_t end = !name.empty() && name[0] == '\0' ? 0 : 1;
  made.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + end);
  return made;
}

inline OwnedFd unix_socket() { return OwnedFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

inline OwnedFd unix_listener(const std::string& name) {
  OwnedFd listener = unix_socket();
  const UnixAddress address = unix_address(name);
  EXPECT_EQ(bind(listener.get(), address.get(), address.length), 0) << name;
  EXPECT_EQ(listen(listener.get(), 64), 0);
  return listener;
}

// On a free port of 127.0.0.1.
inline OwnedFd tcp_listener(Endpoint& bound) {
  OwnedFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress address = to_sockaddr({ipv4(127, 0, 0, 1), 0});
  EXPECT_EQ(bind(listener.get(), address.get(), address.length), 0);
  EXPECT_EQ(listen(listener.get(), 64), 0);
  bound = local_endpoint(listener.get()).value_or(Endpoint{});
  return listener;
}

// Whether somebody has connected.
inline bool has_client(const OwnedFd& listener) { return is_ready(listener.get(), POLLIN); }

}  // namespace sbx::test
