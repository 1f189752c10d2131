// SPDX-License-Identifier: Apache-2.0
// Calls: what a server needs of a Dispatcher, so that its tests can put another in its place. The
// meaning of each function is that of rpc/dispatcher.h.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "rpc/dispatcher.h"

namespace sbx {

class Calls {
 public:
  virtual ~Calls() = default;
  virtual ClientId add_client(ClientOptions options) = 0;
  virtual void remove_client(ClientId client) = 0;
  virtual void call(ClientId client, std::string_view id, std::string_view method,
                    std::string_view params, Dispatcher::Reply reply) = 0;
  virtual int poll_fd() const = 0;
  virtual std::optional<std::chrono::steady_clock::time_point> deadline() const = 0;
  virtual void step() = 0;
  virtual bool is_idle() const = 0;
  virtual void end_all() = 0;
  virtual bool wants_shutdown() const = 0;
};

class DispatcherCalls final : public Calls {
 public:
  explicit DispatcherCalls(Dispatcher& dispatcher) : dispatcher_(dispatcher) {}
  ClientId add_client(ClientOptions options) override {
    return dispatcher_.add_client(std::move(options));
  }
  void remove_client(ClientId client) override { dispatcher_.remove_client(client); }
  void call(ClientId client, std::string_view id, std::string_view method, std::string_view params,
            Dispatcher::Reply reply) override {
    dispatcher_.call(client, id, method, params, std::move(reply));
  }
  int poll_fd() const override { return dispatcher_.poll_fd(); }
  std::optional<std::chrono::steady_clock::time_point> deadline() const override {
    return dispatcher_.deadline();
  }
  void step() override { dispatcher_.step(); }
  bool is_idle() const override { return dispatcher_.is_idle(); }
  void end_all() override { dispatcher_.end_all(); }
  bool wants_shutdown() const override { return dispatcher_.wants_shutdown(); }

 private:
  Dispatcher& dispatcher_;
};

}  // namespace sbx
