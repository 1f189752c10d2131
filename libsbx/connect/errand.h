// SPDX-License-Identifier: Apache-2.0
// Errand: what a connect(2) or socketpair(2) of a command needs of the command's own memory, files
// and paths. Its steps run in a process that shares the supervisor's memory and nothing else
// (connect/connector.h): no heap, no errno, and whatever is opened is left to the end of that
// process.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <climits>
#include <cstdint>
#include <optional>
#include <string_view>

#include "connect/unix_peers.h"

namespace sbx {

// As the notification has it.
struct ConnectCall {
  std::uint64_t id = 0;
  pid_t tid = -1;
  int fd = -1;
  std::uint64_t address = 0;
  socklen_t length = 0;
  int listener = -1;  // the filter's, open for a pair: `fd` is then its type, `address` its place
  bool own_network = false;  // whether the pair belongs to a network namespace that is not ours
};

struct Errand {
  ConnectCall call;
  // The socket, in that process's table, and the address, copied once.
  int socket = -1;
  int domain = -1;
  int type = -1;
  sockaddr_storage address{};
  // Of a path: what it named when it was looked up, pinned, and who has it.
  int path = -1;
  struct stat info {};
  char absolute[PATH_MAX + sizeof(sockaddr_storage)] = {};
  bool only_outside = false;  // a path at which the host has a socket and the command nothing
  bool by_namespace = false;  // for find_owner(): otherwise by who holds the socket
  std::optional<UnixPeers::Owner> owner;
  sockaddr_storage own{};   // the socket's own address once it is connected
  bool is_refused = false;  // by an address of its own network, also where the call does not wait
  int refusal = 0;          // the errno that answers a call that is refused

  bool has_unix_name() const;  // a path or an abstract name
  std::string_view unix_name()
      const;  // a path without its end; an abstract one with its first zero
};

// Each returns 0 or an errno. The caller's number may have been another's by the end of a step: ask
// whether it still waits.
//
// Copies the address, fetches the socket, and looks a path up with the caller's rights on files.
int look(Errand& errand, const UnixPeers& peers);
// Of a Unix name: who holds the socket there. `diag` is the sandbox's.
int find_owner(Errand& errand, const UnixPeers& peers, int diag);
int make_connect(Errand& errand);
// In place of look(), and all of it: two sockets that keep messages apart as datagrams are kept,
// but cannot send to anybody else, put into the caller's table and told to it.
int make_pair(const Errand& errand);

}  // namespace sbx
