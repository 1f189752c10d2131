// SPDX-License-Identifier: Apache-2.0
// McpServer: the Model Context Protocol over one connection: lines in → tool calls; answers,
// progress and questions to the user → lines out. Knows nothing of descriptors; one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/signed_state.h"
#include "session/service.h"
#include "tools/tool_runner.h"

namespace sbx {

struct McpOptions {
  std::vector<std::string> tools;  // that are offered
  std::string version;             // of sbx
  StateKey key{};                  // random: signs what is handed to clients
};

class McpServer {
 public:
  using Clock = std::chrono::steady_clock;
  using Send = std::function<void(std::string line)>;

  // Both must outlive this. `send` takes one line without its end.
  McpServer(Service& service, ToolRunner& runner, McpOptions options, Send send);
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  void receive(std::string_view line);
  void refuse_long_line();  // one that was too long to be read

  // When tick() has something to do: progress.
  std::optional<Clock::time_point> deadline() const;
  void tick();

  bool has_calls() const;  // that are not answered yet

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sbx
