// SPDX-License-Identifier: Apache-2.0
// HttpGate: what the gateway hands connections to whose HTTP is to be read. It parses nothing here;
// a process of its own does (http/), behind this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "model/denial.h"
#include "model/outcome.h"
#include "profile/host_rule.h"

namespace sbx {

// What is told of one connection that was handed over.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  // `number` counts the connection's requests: a later one of the same number replaces the first.
  virtual void on_exchange(std::size_t number, HttpExchange exchange) = 0;
  virtual void on_denial(Denial denial) = 0;
  virtual void on_end(std::uint64_t bytes_out, std::uint64_t bytes_in) = 0;
  // In place of all others: it could not be taken, and is closed.
  virtual void on_refusal() = 0;
};

struct HttpPair {
  std::string name;  // that the command connected to: a name, or a literal address
  int port = 0;
  OwnedFd client;
  OwnedFd server;
  const void* run = nullptr;  // one and the same of all that a run has
};

class HttpGate {
 public:
  virtual ~HttpGate() = default;
  // Whether connections to it are to be read. Lower case.
  virtual bool covers(std::string_view name, int port) const = 0;
  // Whether one of them is called so, on any port.
  virtual bool covers_name(std::string_view name) const = 0;
  // Those of one port.
  virtual std::vector<HostRule> hosts_at(int port) const = 0;
  // Its number; 0: it cannot be taken now, and is closed.
  virtual std::uint32_t hand_over(HttpPair pair, std::weak_ptr<HttpSink> sink) = 0;
  // No further request of it goes on.
  virtual void refuse_more(std::uint32_t number) = 0;
  // Its client is gone: what that has written is handed on, then it ends (on_end), soon.
  virtual void finish(std::uint32_t number) = 0;
};

}  // namespace sbx
