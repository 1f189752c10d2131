// SPDX-License-Identifier: Apache-2.0
// DnsServer: the sandbox's questions → answers from its own range for allowed names, "no such name"
// for all others. Asks outside only for names that are allowed. UDP and TCP.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.h"
#include "base/result.h"
#include "gateway/context.h"
#include "gateway/dns_message.h"

namespace sbx {

class DnsServer {
 public:
  explicit DnsServer(GatewayContext& context);
  ~DnsServer();

  Status add_udp(OwnedFd socket);
  Status add_tcp(OwnedFd listener);

  static constexpr std::size_t kMaxClients = 64;

 private:
  struct Socket {
    OwnedFd socket;
    Loop::Watch watch;
  };
  class TcpClient;
  using Respond = std::function<void(const std::string& message)>;

  void on_udp(int socket_fd);
  void on_accept(int listener_fd);
  // Responds at once or later, or never (to what is no query).
  void answer(std::string_view message, bool is_tcp, const std::string& program, Respond respond);
  using Reply = std::function<void(DnsCode code, const std::vector<IpAddress>& addresses)>;
  // The address that stands for an allowed name inside.
  void answer_number(const DnsQuery& query, const Reply& reply);
  void refuse(const std::string& name, const std::string& program);
  void answer_resolved(const DnsQuery& query, const Resolution& resolution, std::size_t max_size,
                       const std::string& program, const Respond& respond);

  GatewayContext& context_;
  std::vector<std::unique_ptr<Socket>> sockets_;  // UDP sockets and TCP listeners
  std::vector<std::shared_ptr<TcpClient>> clients_;
};

}  // namespace sbx
