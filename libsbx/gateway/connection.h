// SPDX-License-Identifier: Apache-2.0
// RelayedConnection: one accepted socket → judged, its name resolved, dialled, relayed; or reset.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "gateway/context.h"
#include "gateway/dialer.h"
#include "gateway/relay.h"
#include "gateway/tunnel.h"

namespace sbx {

class RelayedConnection : public HttpSink, public std::enable_shared_from_this<RelayedConnection> {
 public:
  // Called once, when nothing is left of it.
  using OnEnd = std::function<void()>;
  RelayedConnection(GatewayContext& context, OwnedFd client, OnEnd end)
      : context_(context), client_(std::move(client)), end_(std::move(end)) {}
  ~RelayedConnection() override;

  // A connection of the sandbox, to where its socket says.
  void start();
  // A connection of the host to a published port; `server` may still be connecting.
  void start_published(OwnedFd server);
  void on_exchange(std::size_t number, HttpExchange exchange) override;
  void on_denial(Denial denial) override { context_.denials.count(std::move(denial)); }
  void on_end(std::uint64_t bytes_out, std::uint64_t bytes_in) override;
  void on_refusal() override { refuse_reading("sbx-http can take no more"); }

  // Nothing of the sandbox is left.
  void note_end();
  // No further request goes on.
  void refuse_more() const;
  // Whether the sandbox has written what is not yet handed on, or recorded. Of one that another
  // process reads, this is known when it has ended.
  bool has_unsent() const;

 private:
  bool has_upstream() const;
  void dial_upstream();
  void open_tunnel(OwnedFd proxy);
  void fail_upstream(const std::string& why);
  void look_for_ruled();
  void resolve();
  void on_resolved(const Resolution& resolution);
  void fail();
  void dial(std::vector<Endpoint> targets);
  void record();
  void relay(OwnedFd server);
  bool is_read() const;
  void refuse_reading(const std::string& why);
  bool judge_host(const std::string& host);
  bool is_other_ruled(const std::string& host) const;
  bool judge_hello(bool readable, const std::string& server_name);
  void abort();
  void finish();

  GatewayContext& context_;
  OwnedFd client_;
  Loop::Watch client_watch_;  // while dialling: the client may give up
  bool is_published_ = false;
  OwnedFd published_;
  Loop::Watch published_watch_;
  Loop::Timer published_limit_;
  OnEnd end_;
  Destination destination_;
  std::vector<Endpoint> refused_;  // of those that its name has
  std::uint32_t handed_over_ = 0;  // its number there
  bool holds_name_ = false;
  bool may_be_ruled_ = false;  // a literal address, of a name that has rules on this port
  std::shared_ptr<AllowedConnection> record_;
  bool is_recorded_ = false;
  std::uint64_t number_ = 0;          // in the order of their beginning
  std::vector<std::size_t> numbers_;  // of its requests, in order
  std::shared_ptr<Dialer> dialer_;
  std::shared_ptr<Tunnel> tunnel_;
  std::shared_ptr<Relay> relay_;
  bool ended_ = false;
};

}  // namespace sbx
