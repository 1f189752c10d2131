// SPDX-License-Identifier: Apache-2.0
// Dispatcher: the methods over one session, as JSON texts. The server, the
// MCP server and `sbx-run tool` all call it; it knows nothing of sockets or framing. One thread,
// driven from outside: poll poll_fd() for reading until deadline(), then step().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "session/session.h"

namespace sbx {

using ClientId = std::uint64_t;

struct ClientOptions {
  // A notification ("task.output" …) and its params as JSON. Called
  // from within step() and call(); must not call back into the dispatcher.
  std::function<void(std::string_view method, std::string_view params)> notify;
  // What waits to be sent to this client, in bytes: output for a slow one is held back, not lost,
  // as far as the task's own buffer reaches. Null: never held back.
  std::function<std::size_t()> queued_bytes;
  bool is_operator = false;  // may `approve`
};

class Dispatcher {
 public:
  // The result as JSON, or the error of a JSON-RPC answer.
  using Reply = std::function<void(Result<std::string> result)>;

  // What `tool` does; `params` is a JSON object. It answers as call() does, and may use call().
  using ToolHandler =
      std::function<void(ClientId client, std::string_view id, std::string_view name,
                         std::string_view params, Reply reply)>;

  explicit Dispatcher(SessionOptions options);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  ClientId add_client(ClientOptions options);
  // Cancels its runs; its tasks go on.
  void remove_client(ClientId client);

  // Without one, there are no tools.
  void set_tool_handler(ToolHandler handler);

  // Calls `method` with a JSON object as `params` (empty: {}). `id` is the client's own name for
  // the call as JSON text ("7", "\"a\""), for cancel; may be empty. `reply` is called exactly once,
  // possibly before this returns, and never after remove_client(); it may use call().
  // `policy` stands for the session's own in what is started; it must live until this returns.
  void call(ClientId client, std::string_view id, std::string_view method, std::string_view params,
            Reply reply, const Policy* policy = nullptr);
  // Cancels a call that has not been answered yet: its command is killed, its reply says so.
  void cancel(ClientId client, std::string_view id);

  int poll_fd() const;
  std::optional<std::chrono::steady_clock::time_point> deadline() const;
  void step();  // never blocks

  bool is_idle() const;  // neither runs nor tasks that still run
  // Ends every run and task: SIGTERM, after the grace SIGKILL. is_idle() becomes true.
  void end_all();
  bool wants_shutdown() const;  // `shutdown` was called, or the owner has ended

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sbx
