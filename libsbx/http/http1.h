// SPDX-License-Identifier: Apache-2.0
// Http1: a client and a server that both speak HTTP/1 → requests that were judged, one after the
// other, and their answers. What goes on is written anew from what was read.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "http/frames.h"
#include "http/judge.h"
#include "http/message.h"
#include "http/redactor.h"
#include "http/stream.h"

namespace sbx::http {

// So long may a client that has its answer still write, which is thrown away.
inline constexpr auto kLinger = std::chrono::seconds(2);

// What speaks once both sides are connected.
class Dialogue {
 public:
  virtual ~Dialogue() = default;
  // Whether something has moved.
  virtual bool advance() = 0;
  virtual bool is_over() const = 0;
  // Whether something that the client has written is still to go on.
  virtual bool has_unsent() const = 0;
  // Nothing moves any more: tells of what has found no end.
  virtual void conclude() = 0;
};

class Http1 : public Dialogue, public std::enable_shared_from_this<Http1> {
 public:
  // `wake` is called when advance() is due without an event of a socket. `no_server`: why there is
  // none; empty: there is one.
  Http1(Context& context, const Peer& peer, Stream& client, Stream& server, std::string no_server,
        std::function<void()> wake);
  bool advance() override;
  bool is_over() const override { return is_over_; }
  bool has_unsent() const override;
  void conclude() override { tell(); }

 private:
  enum class Asking : std::uint8_t { kHead, kWaits, kBody, kSent };
  // kDone: the answer is whole, but not all of the request has gone on.
  enum class Answering : std::uint8_t { kNothing, kHead, kBody, kDone };

  bool step_request();
  bool read_head();
  void begin();
  void send_request();
  bool pass_body();
  void refuse(const Refusal& refusal, bool can_go_on);
  bool step_response();
  bool read_answer();
  bool take_interim(Head& head);
  void send_head(Head& head);
  void start_tunnel(Head& head);
  bool is_proper_upgrade(const Head& head) const;
  void send_answer(Head head);
  bool pass_answer();
  bool finish_late_request();
  void finish_exchange();
  bool step_tunnel();
  Result<std::string> search_frame(std::string_view payload, Frames::Part part);
  std::string redact_frame(std::string_view payload, Frames::Part part);
  void end_tunnel(const Refusal& refusal);
  void fail(const std::string& reason);
  void close_politely();
  void linger();
  void tell();

  Context& context_;
  const Peer& peer_;
  Stream& client_;
  Stream& server_;
  std::string no_server_;
  std::function<void()> wake_;

  Asking asking_ = Asking::kHead;
  Answering answering_ = Answering::kNothing;
  std::size_t number_ = 0;
  Head request_;
  Judged judged_;
  std::uint64_t question_ = 0;  // to the operator
  std::uint64_t left_ = 0;      // of a body with a length
  std::optional<ChunkReader> chunks_;
  std::string held_;  // of the request's body: it may begin a placeholder
  bool has_told_ = true;

  Head answer_;
  std::uint64_t answer_left_ = 0;
  std::optional<ChunkReader> answer_chunks_;
  Redactor redactor_;
  bool redacts_ = false;
  int interim_ = 0;

  bool is_tunnel_ = false;
  Frames asked_frames_;
  Frames answered_frames_;
  std::optional<Refusal> refusal_;  // of a frame
  bool lingers_ = false;
  bool is_limited_ = false;
  bool is_over_ = false;
  Loop::Timer limit_;
};

}  // namespace sbx::http
