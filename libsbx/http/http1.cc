// SPDX-License-Identifier: Apache-2.0
// Two machines, one for each direction, that take steps as long as one of them can.
#include "http/http1.h"

#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "json/base64.h"

namespace sbx::http {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;

// RFC 6455, section 4.2.2.
std::string accept_of(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return base64_encode({reinterpret_cast<const char*>(digest), sizeof digest});
}

}  // namespace

Http1::Http1(Context& context, const Peer& peer, Stream& client, Stream& server,
             std::string no_server, std::function<void()> wake)
    : context_(context),
      peer_(peer),
      client_(client),
      server_(server),
      no_server_(std::move(no_server)),
      wake_(std::move(wake)),
      redactor_(context.credentials().values()) {
  redacts_ = context.credentials().is_searched();
}

bool Http1::advance() {
  if (is_over_) return false;
  if (lingers_) {
    linger();
    return false;
  }
  if (is_tunnel_) return step_tunnel();
  const bool has_asked = step_request();
  if (is_over_ || lingers_ || is_tunnel_) return true;
  return step_response() || has_asked;
}

// What waits for the operator waits for a program that takes the answer.
bool Http1::has_unsent() const {
  if (lingers_ || asking_ == Asking::kWaits) return false;
  return asking_ == Asking::kBody || !client_.in.empty() || !server_.out.empty();
}

bool Http1::step_request() {
  switch (asking_) {
    case Asking::kHead:
      return read_head();
    case Asking::kBody:
      return pass_body();
    case Asking::kWaits:
      // Whoever waited for the operator has left.
      if (has_told_ || !client_.is_at_end()) return false;
      close_politely();
      return true;
    default:
      return false;
  }
}

bool Http1::read_head() {
  if (answering_ != Answering::kNothing) return false;
  const Result<std::size_t> size = head_size(client_.in);
  Result<Head> head = size.ok() ? Head{} : Result<Head>(size.error());
  if (size.ok() && size.value() == 0) {
    if (client_.is_at_end()) close_politely();
    return client_.is_at_end();
  }
  if (size.ok()) head = read_request(std::string_view(client_.in).substr(0, size.value()));
  judged_ = {};
  if (!head.ok()) {
    request_ = {};
    // As far as it can be read: for the record alone.
    const std::vector<std::string_view> words =
        split(std::string_view(client_.in).substr(0, client_.in.find_first_of("\r\n")), ' ');
    const std::string_view target = words.size() > 1 ? words[1].substr(0, 1024) : "/";
    judged_.exchange =
        noted(peer_, escape_control_bytes(words[0].substr(0, 64)), escape_control_bytes(target));
    refuse(unreadable(head.error().message), false);
    return true;
  }
  request_ = std::move(head).value();
  client_.in.erase(0, size.value());
  asking_ = Asking::kWaits;
  context_.renew_values(peer_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && !self->is_over_) self->begin();
  });
  return true;
}

void Http1::begin() {
  // What the origin says before it was asked is no answer.
  if (no_server_.empty()) server_.fill_now();
  if (!server_.in.empty()) return close_politely();
  left_ = request_.length;
  chunks_.reset();
  if (request_.body == Body::kChunked) chunks_.emplace();
  held_.clear();
  judged_ = judge(context_, peer_, request_);
  has_told_ = false;
  if (judged_.refusal) return refuse(*judged_.refusal, request_.body == Body::kNone);
  if (!no_server_.empty()) return refuse({502, no_server_, ""}, request_.body == Body::kNone);
  if (chunks_) {
    // What is here already may be framed in two ways: then not even the head goes on.
    std::string data;
    const auto ahead = ChunkReader().read(client_.in, data, client_.in.size());
    if (!ahead.ok()) return refuse(unreadable(ahead.error().message), false);
  }
  if (!judged_.asks) return send_request();
  const std::string size = request_.body == Body::kChunked ? "" : std::to_string(request_.length);
  question_ = context_.ask(peer_, judged_, size, [weak = weak_from_this()](bool is_allowed) {
    const auto self = weak.lock();
    if (!self || self->is_over_ || self->asking_ != Asking::kWaits) return;
    if (is_allowed) {
      self->send_request();
    } else {
      self->refuse(not_allowed(self->judged_), self->request_.body == Body::kNone);
    }
    self->wake_();
  });
}

// It is told of before the origin can see any of it.
void Http1::send_request() {
  context_.tell_exchange(peer_, number_, judged_.exchange);
  server_.out += request_text(request_);
  asking_ = request_.body == Body::kNone ? Asking::kSent : Asking::kBody;
  answering_ = Answering::kHead;
  interim_ = 0;
  wake_();
}

bool Http1::pass_body() {
  if (server_.out.size() >= Stream::kMostOut) return false;
  std::string piece;
  bool is_end = false;
  Fields trailers;
  if (chunks_) {
    const Result<std::size_t> used = chunks_->read(client_.in, piece, kPiece);
    if (!used.ok()) {
      refuse(unreadable(used.error().message), false);
      return true;
    }
    client_.in.erase(0, used.value());
    is_end = chunks_->is_done();
    if (is_end) trailers = chunks_->trailers();
    if (used.value() == 0 && !is_end && client_.is_at_end()) {
      close_politely();
      return true;
    }
    if (used.value() == 0 && !is_end) return false;
  } else {
    const std::size_t size = std::min<std::uint64_t>({left_, client_.in.size(), kPiece});
    if (size == 0) {
      if (client_.is_at_end()) close_politely();
      return client_.is_at_end();
    }
    piece = client_.in.substr(0, size);
    client_.in.erase(0, size);
    left_ -= size;
    is_end = left_ == 0;
  }
  judged_.exchange.bytes_sent += piece.size();
  const Credentials& credentials = context_.credentials();
  held_ += piece;
  std::optional<Refusal> refusal = judge_trailers(context_, peer_, trailers);
  if (const auto name = credentials.find(held_)) refusal = misplaced(peer_, *name);
  if (refusal) {
    refuse(*refusal, false);
    return true;
  }
  const std::size_t open = is_end ? 0 : credentials.open_end(held_);
  const std::string_view passed = std::string_view(held_).substr(0, held_.size() - open);
  server_.out += chunks_ ? chunk_text(passed) : std::string(passed);
  held_.erase(0, passed.size());
  if (!is_end) return true;
  if (chunks_) server_.out += last_chunk_text(trailers);
  asking_ = Asking::kSent;
  return true;
}

// The connection goes on where nothing of the request is left to come.
void Http1::refuse(const Refusal& refusal, bool can_go_on) {
  const bool has_answered = answering_ >= Answering::kBody;
  const bool goes_on = can_go_on && request_.keeps_alive && answering_ == Answering::kNothing;
  judged_.exchange.status = refusal.status;
  tell_refusal(context_, peer_, number_, judged_.exchange, refusal);
  has_told_ = true;
  ++number_;
  if (!has_answered) {
    const std::string body = refusal_json(peer_, judged_.exchange, refusal);
    Head head;
    head.status = refusal.status;
    head.reason = reason_phrase(refusal.status);
    head.fields = {{"Content-Type", std::string(refusal_type(request_.fields))},
                   {"Content-Length", std::to_string(body.size())},
                   {"Connection", goes_on ? "keep-alive" : "close"}};
    client_.out += response_text(head);
    if (request_.method != "HEAD") client_.out += body;
  }
  if (goes_on) {
    asking_ = Asking::kHead;
    return wake_();
  }
  close_politely();
}

void Http1::tell() {
  if (std::exchange(has_told_, true)) return;
  if (asking_ == Asking::kWaits) {  // for the operator, in vain
    context_.withdraw(question_);
    tell_refusal(context_, peer_, number_, judged_.exchange, not_allowed(judged_));
  } else {
    context_.tell_exchange(peer_, number_, judged_.exchange);
  }
  ++number_;
}

// Until the client has read what it was told, and has ended too; it is given a while for that.
void Http1::linger() {
  client_.in.clear();
  if (client_.is_broken()) is_over_ = true;
  if (!client_.has_ended_output()) return;
  if (client_.is_at_end()) is_over_ = true;
  if (std::exchange(is_limited_, true)) return;
  limit_ = context_.loop().after(kLinger, [this] {
    is_over_ = true;
    wake_();
  });
}

// The client may still be writing: what it is told would be lost if the socket were closed now.
void Http1::close_politely() {
  tell();
  client_.end_output();
  server_.stop();
  lingers_ = true;
  wake_();
}

void Http1::fail(const std::string& reason) {
  if (answering_ == Answering::kBody) {
    // Half of it has gone on: an end without a farewell, or a reset, is all that is left to say.
    tell();
    tell_denial(context_, peer_, judged_.exchange, {502, reason, ""});
    is_over_ = true;
    return;
  }
  request_.keeps_alive = false;
  refuse({502, reason, ""}, false);
}

// --- answers ---

bool Http1::step_response() {
  const bool is_gone = server_.is_at_end() || server_.is_broken();
  if (answering_ == Answering::kNothing) {
    const bool is_idle = asking_ == Asking::kHead && no_server_.empty();
    if (!is_idle || (server_.in.empty() && !is_gone)) return false;
    close_politely();
    return true;
  }
  if (answering_ == Answering::kDone) return finish_late_request();
  if (client_.out.size() >= Stream::kMostOut) return false;
  if (answering_ == Answering::kBody) return pass_answer();
  return read_answer();
}

bool Http1::read_answer() {
  const Result<std::size_t> size = head_size(server_.in);
  if (!size.ok()) {
    fail("the origin's answer cannot be read: " + size.error().message);
    return true;
  }
  if (size.value() == 0) {
    if (!server_.is_at_end() && !server_.is_broken()) return false;
    fail("the origin has closed the connection without an answer");
    return true;
  }
  Result<Head> head =
      read_response(std::string_view(server_.in).substr(0, size.value()), request_.method);
  if (!head.ok()) {
    fail("the origin's answer cannot be read: " + head.error().message);
    return true;
  }
  server_.in.erase(0, size.value());
  if (head.value().status < 200) return take_interim(head.value());
  if (redacts_ && head.value().body != Body::kNone && !is_plain_body(head.value().fields)) {
    fail("the origin's answer is encoded, and cannot be searched for the credential");
    return true;
  }
  if (head.value().body == Body::kChunked && request_.minor == 0) {
    fail("the origin's answer is chunked, and the request was one of HTTP/1.0");
    return true;
  }
  send_answer(std::move(head).value());
  return true;
}

bool Http1::is_proper_upgrade(const Head& head) const {
  const Field* const key = find_field(request_.fields, "sec-websocket-key");
  const Field* const accept = find_field(head.fields, "sec-websocket-accept");
  const Field* const upgrade = find_field(head.fields, "upgrade");
  const std::vector<std::string> connection = list_of(head.fields, "connection");
  // An extension may compress what is to be searched.
  const bool is_extended = find_field(head.fields, "sec-websocket-extensions") != nullptr;
  return judged_.is_websocket && !(redacts_ && is_extended) && asking_ == Asking::kSent &&
         key != nullptr && accept != nullptr && upgrade != nullptr &&
         lower_case(upgrade->value) == "websocket" &&
         std::find(connection.begin(), connection.end(), "upgrade") != connection.end() &&
         accept->value == accept_of(key->value);
}

bool Http1::take_interim(Head& head) {
  if (head.status == 101) {
    if (is_proper_upgrade(head)) {
      start_tunnel(head);
    } else {
      fail("the origin changes to a protocol that was not asked for");
    }
    return true;
  }
  if (++interim_ > kMostInterim) {
    fail("the origin sends interim answers without end");
    return true;
  }
  if (request_.minor == 0) return true;
  send_head(head);
  return true;
}

// Interim or not: no head holds a value.
void Http1::send_head(Head& head) {
  context_.credentials().redact(head.fields);
  head.reason = redacted(context_.credentials().values(), head.reason);
  client_.out += response_text(head);
}

void Http1::send_answer(Head head) {
  judged_.exchange.status = head.status;
  answer_left_ = head.length;
  answer_chunks_.reset();
  if (head.body == Body::kChunked) answer_chunks_.emplace();
  redactor_ = Redactor(context_.credentials().values());
  // Its end alone says that it is whole.
  if (head.body == Body::kUntilEnd) client_.reset_by_closing(true);
  send_head(head);
  answering_ = Answering::kBody;
  const bool has_body = head.body != Body::kNone;
  // One that is here as a whole is told of once, when it has gone on.
  const bool is_here = head.body == Body::kLength &&
                       head.length <= std::min<std::uint64_t>(server_.in.size(), kPiece);
  answer_ = std::move(head);
  if (has_body && is_here) return;
  if (has_body) {
    context_.tell_exchange(peer_, number_, judged_.exchange);
  } else {
    answering_ = Answering::kDone;
  }
}

bool Http1::pass_answer() {
  std::string piece;
  bool is_end = false;
  std::string last;
  const bool is_gone = server_.is_at_end() || server_.is_broken();
  if (answer_chunks_) {
    const Result<std::size_t> used = answer_chunks_->read(server_.in, piece, kPiece);
    if (!used.ok()) {
      fail(used.error().message);
      return true;
    }
    server_.in.erase(0, used.value());
    is_end = answer_chunks_->is_done();
    if (is_end) {
      Fields trailers = answer_chunks_->trailers();
      context_.credentials().redact(trailers);
      last = last_chunk_text(trailers);
    }
    if (used.value() == 0 && !is_end) {
      if (is_gone) fail("the origin's answer ends too early");
      return is_gone;
    }
  } else if (answer_.body == Body::kUntilEnd) {
    piece = server_.in.substr(0, kPiece);
    server_.in.erase(0, piece.size());
    is_end = server_.in.empty() && is_gone;
    if (piece.empty() && !is_end) return false;
    if (is_end && server_.is_broken()) {
      fail("the origin's answer is cut off");
      return true;
    }
  } else {
    const std::size_t size = std::min<std::uint64_t>({answer_left_, server_.in.size(), kPiece});
    if (size == 0) {
      if (is_gone) fail("the origin's answer ends too early");
      return is_gone;
    }
    piece = server_.in.substr(0, size);
    server_.in.erase(0, size);
    answer_left_ -= size;
    is_end = answer_left_ == 0;
  }
  judged_.exchange.bytes_received += piece.size();
  if (redacts_) {
    piece = redactor_.feed(piece);
    if (is_end) piece += redactor_.finish();
  }
  client_.out += answer_chunks_ ? chunk_text(piece) : piece;
  client_.out += last;
  if (is_end) answering_ = Answering::kDone;
  if (is_end && answer_.body == Body::kUntilEnd) client_.reset_by_closing(false);
  return true;
}

// What the client still writes may be what it was asked for. It is told what the origin says of
// the connection, as that comes.
bool Http1::finish_late_request() {
  const bool has_sent = asking_ == Asking::kSent && server_.out.empty();
  if (has_sent || server_.is_broken()) {
    finish_exchange();
    return true;
  }
  if (server_.is_at_end()) client_.end_output();
  return false;
}

void Http1::finish_exchange() {
  const bool goes_on =
      request_.keeps_alive && answer_.keeps_alive && asking_ == Asking::kSent && server_.in.empty();
  tell();
  answering_ = Answering::kNothing;
  if (!goes_on) return close_politely();
  asking_ = Asking::kHead;
  wake_();
}

void Http1::start_tunnel(Head& head) {
  judged_.exchange.status = 101;
  context_.tell_exchange(peer_, number_, judged_.exchange);
  send_head(head);
  redactor_ = Redactor(context_.credentials().values());
  held_.clear();
  is_tunnel_ = true;
}

bool Http1::step_tunnel() {
  const bool has_credentials = !context_.credentials().bound().empty();
  bool has_moved = false;
  if (!client_.in.empty() && server_.out.size() < Stream::kMostOut) {
    judged_.exchange.bytes_sent += client_.in.size();
    const std::string bytes = std::exchange(client_.in, {});
    Status passed;
    if (has_credentials) {
      passed = asked_frames_.feed(bytes, server_.out, [this](auto payload, auto part) {
        return search_frame(payload, part);
      });
    } else {
      server_.out += bytes;
    }
    if (!passed.ok()) {
      end_tunnel(*refusal_);
      return true;
    }
    has_moved = true;
  }
  if (!server_.in.empty() && client_.out.size() < Stream::kMostOut) {
    judged_.exchange.bytes_received += server_.in.size();
    const std::string bytes = std::exchange(server_.in, {});
    if (redacts_) {
      static_cast<void>(answered_frames_.feed(bytes, client_.out, [this](auto payload, auto part) {
        return Result<std::string>(redact_frame(payload, part));
      }));
    } else {
      client_.out += bytes;
    }
    has_moved = true;
  }
  if (client_.is_at_end() && client_.in.empty()) server_.end_output();
  if ((server_.is_at_end() || server_.is_broken()) && server_.in.empty()) {
    client_.out += redactor_.finish();
    close_politely();
    return true;
  }
  return has_moved;
}

// What may begin a placeholder waits for the rest of its message.
Result<std::string> Http1::search_frame(std::string_view payload, Frames::Part part) {
  const Credentials& credentials = context_.credentials();
  if (part != Frames::Part::kControl) held_ += payload;
  const auto name = credentials.find(part == Frames::Part::kControl ? payload : held_);
  if (name) {
    refusal_ = misplaced(peer_, *name);
    return Error{ErrorCode::kBadValue, refusal_->reason, "frame", ""};
  }
  if (part == Frames::Part::kControl) return std::string(payload);
  if (part == Frames::Part::kLast) return std::exchange(held_, {});
  std::string passed = held_;
  passed.resize(held_.size() - credentials.open_end(held_));
  held_.erase(0, passed.size());
  return passed;
}

std::string Http1::redact_frame(std::string_view payload, Frames::Part part) {
  if (part == Frames::Part::kControl) return redacted(context_.credentials().values(), payload);
  std::string passed = redactor_.feed(payload);
  if (part == Frames::Part::kLast) passed += redactor_.finish();
  return passed;
}

void Http1::end_tunnel(const Refusal& refusal) {
  tell_denial(context_, peer_, judged_.exchange, refusal);
  close_politely();
}

}  // namespace sbx::http
