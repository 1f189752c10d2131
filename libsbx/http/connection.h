// SPDX-License-Identifier: Apache-2.0
// Connection: two connected sockets → TLS on both sides where the client speaks it, with what the
// origin takes of the client's protocols; then a dialogue of HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop.h"
#include "http/http1.h"
#include "http/judge.h"
#include "http/stream.h"

namespace sbx::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Called once, when nothing is left of it. Must not destroy it; bury it.
  using OnEnd = std::function<void(std::uint64_t bytes_out, std::uint64_t bytes_in)>;
  Connection(Context& context, Peer peer, OwnedFd client, OwnedFd server, OnEnd end);
  void start();
  // The client is gone: what it has written is still handed on, for a moment, and that is all.
  void finish();
  void refuse_more() { peer_.is_full = true; }

 private:
  enum class Stage : std::uint8_t { kFirstByte, kHello, kOrigin, kClient, kDialogue, kOver };

  void advance();
  bool step();
  bool look_at_first_byte();
  bool step_hello();
  bool begin_origin();
  bool step_origin();
  bool is_offered(std::string_view protocol) const;
  bool step_client();
  bool step_dialogue();
  void begin_dialogue();
  void origin_failed(const std::string& reason);
  void end();

  static int on_hello(SSL* ssl, int* alert, void* unused);
  static int on_protocols(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                          const unsigned char* in, unsigned in_size, void* unused);
  bool read_hello(SSL* ssl);

  Context& context_;
  Peer peer_;
  OnEnd end_;
  Stream client_;
  Stream server_;
  Stage stage_ = Stage::kFirstByte;
  bool has_protocols_ = false;  // the client's hello
  bool offers_h1_ = false;
  bool offers_h2_ = false;
  bool is_h2_ = false;
  std::string no_server_;
  std::shared_ptr<Dialogue> dialogue_;
  Loop::Timer limit_;
  Loop::Timer again_;
  Loop::Timer finish_limit_;
  bool client_is_gone_ = false;
  bool is_advancing_ = false;
  bool must_advance_ = false;
};

}  // namespace sbx::http
