// SPDX-License-Identifier: Apache-2.0
// Dispatcher: a method's name and params, as JSON → the call of the service that its row stands
// for, whose answer is written as JSON where the caller wants it. Knows nothing of sockets or
// framing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rpc/methods.h"
#include "session/service.h"

namespace sbx {

class Dispatcher {
 public:
  // All must outlive this. Without a runner there are no tools.
  explicit Dispatcher(Service& service, ToolRunner* tools = nullptr,
                      std::span<const Method> methods = sbx::methods())
      : service_(service), tools_(tools), methods_(methods) {}

  // Calls `method` with a JSON object as `params` (empty: {}). `id` is the client's own name for
  // the call as JSON text ("7", "\"a\""), for cancel; may be empty. `reply` is called exactly once,
  // possibly before this returns, and never after the client has been removed; it may use call().
  void call(ClientId client, bool is_operator, std::string_view id, std::string_view method,
            std::string_view params, MethodReply reply);

  Service& service() { return service_; }

 private:
  Service& service_;
  ToolRunner* tools_;
  std::span<const Method> methods_;
};

}  // namespace sbx
