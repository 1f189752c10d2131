// SPDX-License-Identifier: Apache-2.0
// FakeCalls: a dispatcher of a few methods for tests of the server. `echo` answers its params,
// `big` {"bytes":N} N bytes, `work` null after 5 ms, `hold` nothing until it is released, `tell`
// sends a notification to every client; tasks are a number.
#pragma once

#include <sys/eventfd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "rpc/calls.h"

namespace sbx {

class FakeCalls final : public Calls {
 public:
  FakeCalls() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ClientId add_client(ClientOptions options) override {
    clients.emplace(++last_client_, std::move(options));
    return last_client_;
  }
  void remove_client(ClientId client) override {
    clients.erase(client);
    std::erase_if(held, [&](const auto& call) { return call.first == client; });
  }
  void call(ClientId client, std::string_view, std::string_view method, std::string_view params,
            Dispatcher::Reply reply) override {
    ++calls;
    if (method == "echo") return reply(std::string(params));
    if (method == "big") {
      const auto size = nlohmann::json::parse(params)["bytes"].get<std::size_t>();
      return reply("\"" + std::string(size, 'x') + "\"");
    }
    if (method == "tell") {
      for (const auto& [id, other] : clients) other.notify("task.output", params);
      return reply(std::string("null"));
    }
    if (method == "approve") {
      return reply(std::string(clients.at(client).is_operator ? "true" : "false"));
    }
    if (method == "shutdown") {
      shutdown = true;
      return reply(std::string("null"));
    }
    if (method == "work") {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return reply(std::string("null"));
    }
    if (method == "hold") {
      held.emplace_back(client, std::move(reply));
      return;
    }
    reply(Error{ErrorCode::kUnknownMethod, "no such method: " + std::string(method), "", ""});
  }
  int poll_fd() const override { return wake_.get(); }
  std::optional<std::chrono::steady_clock::time_point> deadline() const override {
    return std::nullopt;
  }
  void step() override {}
  bool is_idle() const override { return tasks == 0 && held.empty(); }
  void end_all() override {
    ended = true;
    if (!obeys) return;
    tasks = 0;
    for (const auto& [id, client] : clients) {
      if (client.notify) client.notify("task.cancelled", "{}");
    }
    for (auto& [client, reply] : std::exchange(held, {})) reply(std::string("\"ended\""));
  }
  bool wants_shutdown() const override { return shutdown; }

  std::map<ClientId, ClientOptions> clients;
  std::vector<std::pair<ClientId, Dispatcher::Reply>> held;
  int calls = 0;
  int tasks = 0;
  bool obeys = true;  // end_all() ends everything at once
  bool ended = false;
  bool shutdown = false;

 private:
  OwnedFd wake_;
  ClientId last_client_ = 0;
};

}  // namespace sbx
