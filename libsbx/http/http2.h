// SPDX-License-Identifier: Apache-2.0
// Http2: a client and a server that both speak HTTP/2 → streams whose requests were judged, each
// with its twin on the other side. Frames are nghttp2's; nothing is ever carried over to HTTP/1.
#pragma once

#include <nghttp2/nghttp2.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/http1.h"
#include "http/judge.h"
#include "http/redactor.h"
#include "http/stream.h"

namespace sbx::http {

class Http2 : public Dialogue, public std::enable_shared_from_this<Http2> {
 public:
  // As Http1's.
  Http2(Context& context, const Peer& peer, Stream& client, Stream& server, std::string no_server,
        std::function<void()> wake);
  bool advance() override;
  bool is_over() const override { return is_over_; }
  bool has_unsent() const override;
  void conclude() override;

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  enum Side : std::uint8_t { kClient, kServer };
  // What goes to one side of a stream.
  struct Flow {
    std::string data;
    Fields trailers;
    bool is_ended = false;
    bool is_open = false;  // its head was submitted
    bool is_sent = false;  // to its end
  };
  struct Exchange {
    std::int32_t ids[2] = {-1, -1};
    bool is_closed[2] = {false, false};
    std::optional<std::size_t> number;  // once it was told of: they come in order
    Head head;                          // as it comes in
    Fields fields;                      // of the block that is coming in
    std::size_t fields_size = 0;
    std::size_t heads_size = 0;  // of all blocks of the request
    Judged judged;
    std::uint64_t question = 0;  // to the operator
    Flow flows[2];               // to the client, to the server
    std::string held;            // of the request's body: it may begin a placeholder
    int interim = 0;             // answers before the last
    bool is_refused = false;
    bool has_answer = false;
    bool has_told = false;
    bool request_ended = false;
    Redactor redactor;
    Loop::Timer limit;  // of what the client still says though nobody listens
    explicit Exchange(const Credentials& credentials) : redactor(credentials.values()) {}
  };
  struct FreeSession {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  struct Callbacks;

  bool open();
  bool pump(Side side);
  std::size_t waiting(Side side) const;
  void end_server();
  Exchange* find(Side side, std::int32_t id);
  bool add_field(Side side, std::int32_t id, std::string_view name, std::string_view value);
  void take_head(Side side, std::int32_t id, bool is_end);
  void take_trailers(Side side, Exchange& exchange);
  static std::string take_fields(Exchange& exchange);
  void take_request(Exchange& exchange, bool is_end);
  void begin(std::int32_t id);
  void send_request(Exchange& exchange);
  void take_answer(Exchange& exchange, bool is_end);
  void take_data(Side side, std::int32_t id, std::string_view data);
  void take_end(Side side, Exchange& exchange);
  ssize_t give_data(Side side, std::int32_t id, std::uint8_t* to, std::size_t most,
                    std::uint32_t* flags);
  void note_sent(Side side, const nghttp2_frame& frame);
  void note_closed(Side side, std::int32_t id, std::uint32_t error);
  void break_off(Exchange& exchange, std::uint32_t error);
  void note_unread(Exchange& exchange);
  void end_request(Exchange& exchange);
  void refuse(Exchange& exchange, const Refusal& refusal);
  void reset(Side side, const Exchange& exchange, std::uint32_t error);
  void resume(Side side, const Exchange& exchange);
  static void append(Pairs& to, const Fields& fields);
  void submit(Side side, Exchange& exchange, const Pairs& head, bool has_body);
  void submit_interim(const Exchange& exchange, const Pairs& head);
  static bool waits_for_operator(const Exchange& exchange);
  void tell(Exchange& exchange);
  void tell_now(Exchange& exchange);
  void tell_answer(Exchange& exchange);
  std::size_t number_of(Exchange& exchange);
  static Side other(Side side) { return side == kClient ? kServer : kClient; }
  Stream& stream(Side side) { return side == kClient ? client_ : server_; }

  Context& context_;
  const Peer& peer_;
  Stream& client_;
  Stream& server_;
  std::string no_server_;
  std::function<void()> wake_;
  std::unique_ptr<nghttp2_session, FreeSession> sessions_[2];
  std::map<std::int32_t, std::unique_ptr<Exchange>> exchanges_;  // by the client's id
  std::map<std::int32_t, std::int32_t> by_server_;
  std::size_t heads_size_ = 0;
  std::size_t owed_[2] = {0, 0};  // of what has come: not given back to the connection's window yet
  std::size_t next_number_ = 0;
  bool redacts_ = false;
  bool server_is_gone_ = false;
  bool is_over_ = false;
};

}  // namespace sbx::http
