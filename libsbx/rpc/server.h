// SPDX-License-Identifier: Apache-2.0
// Server: one epoll loop over the dispatcher, a listening socket, its clients and, where there is
// one, the stream whose end is the server's end (standard input, or a descriptor handed over). It
// decides when to leave; it makes and removes nothing on disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/owned_fd.h"
#include "base/result.h"
#include "rpc/connection.h"

namespace sbx {

struct ServerLimits {
  ConnectionLimits connection{};
  std::size_t max_clients = 256;
  std::size_t held_bytes = std::size_t{256} << 20;  // for all clients together; the fullest goes
  std::chrono::milliseconds idle{10'000};   // with neither tasks nor clients, behind a socket
  std::chrono::milliseconds drain{1'000};   // for calls in flight, at the end of the stream
  std::chrono::milliseconds ending{3'000};  // for every task to end: 2 s of grace and the kill
  std::chrono::milliseconds owner_gone{300};
  std::chrono::milliseconds farewell{500};  // for clients to take what waits for them
};

struct ServerOptions {
  OwnedFd listener;      // does not block; not open: none
  int signal_fd = -1;    // a signal ends the server, a second one at once; -1: none
  int owner_pidfd = -1;  // the server ends with this process; -1: none
  Greeting greeting;
  ServerLimits limits{};
  // Called before the listener is closed, so that nobody finds it any more.
  std::function<void()> before_leaving;
};

class Server {
 public:
  // `dispatcher` must outlive this.
  Server(Dispatcher& dispatcher, ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // A client whose end is the end of the server. Before run().
  void add_stream(Connection::Ends ends, bool is_operator);

  // Until there is nothing more to do: the end of the stream, `shutdown`, a signal, the owner's
  // end, or nobody to serve. Errors: kSetupFailed; kOutputUnwritable (a stream of two ends, of
  // which the second one did not take what was left for it).
  Status run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sbx
