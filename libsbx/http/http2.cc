// SPDX-License-Identifier: Apache-2.0
// What each frame moves. A stream's window is opened again when its bytes have gone on; the
// connection's at once, so that no stream waits for another, until so much waits as one side may
// have the gateway hold.
#include "http/http2.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace sbx::http {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{1} << 20;  // to one side, before its window
constexpr std::size_t kMostHeads = std::size_t{1} << 20;    // of all requests that are on their way

}  // namespace

Http2::Http2(Context& context, const Peer& peer, Stream& client, Stream& server,
             std::string no_server, std::function<void()> wake)
    : context_(context),
      peer_(peer),
      client_(client),
      server_(server),
      no_server_(std::move(no_server)),
      wake_(std::move(wake)) {
  redacts_ = context_.credentials().is_searched();
  if (!open()) is_over_ = true;
}

void Http2::conclude() {
  for (auto& [id, exchange] : exchanges_) tell(*exchange);
}

bool Http2::advance() {
  if (is_over_) return false;
  bool moves = pump(kClient);
  if (no_server_.empty() && !server_is_gone_) moves = pump(kServer) || moves;
  if (is_over_) return true;
  nghttp2_session* const server = sessions_[kServer].get();
  // An error of the origin's ends its session, whether or not it closes the connection.
  const bool has_ended =
      nghttp2_session_want_read(server) == 0 && nghttp2_session_want_write(server) == 0;
  if (no_server_.empty() && !server_is_gone_ &&
      (has_ended || (server_.is_at_end() && server_.in.empty()) || server_.is_broken())) {
    end_server();
    moves = true;
  }
  nghttp2_session* const client = sessions_[kClient].get();
  const bool is_done = nghttp2_session_want_read(client) == 0 &&
                       nghttp2_session_want_write(client) == 0 && client_.out.empty();
  if ((is_done && !has_unsent()) ||
      (client_.is_at_end() && client_.in.empty() &&
       std::all_of(exchanges_.begin(), exchanges_.end(),
                   [](const auto& each) { return waits_for_operator(*each.second); }))) {
    is_over_ = true;
    return true;
  }
  return moves;
}

bool Http2::has_unsent() const {
  if (!no_server_.empty() || server_is_gone_) return false;
  return !client_.in.empty() || !server_.out.empty() ||
         nghttp2_session_want_write(sessions_[kServer].get()) != 0 ||
         std::any_of(exchanges_.begin(), exchanges_.end(), [](const auto& each) {
           const Exchange& one = *each.second;
           const bool goes_on = !one.is_refused && one.ids[kServer] >= 0 && !one.is_closed[kServer];
           return goes_on && !one.flows[kServer].data.empty();
         });
}

// In, then out, within the bounds of the buffers.
bool Http2::pump(Side side) {
  nghttp2_session* const session = sessions_[side].get();
  Stream& socket = stream(side);
  bool moves = false;
  if (owed_[side] > 0 && waiting(other(side)) <= kMostWaiting) {
    nghttp2_session_consume_connection(session, std::exchange(owed_[side], 0));
  }
  if (!socket.in.empty() && stream(other(side)).out.size() < Stream::kMostOut) {
    // Few bytes can stand for many headers: what they become goes out before more is read.
    constexpr std::size_t kPiece = std::size_t{32} << 10;
    const std::size_t size = std::min(socket.in.size(), kPiece);
    const ssize_t used = nghttp2_session_mem_recv(
        session, reinterpret_cast<const std::uint8_t*>(socket.in.data()), size);
    socket.in.erase(0, size);
    moves = true;
    if (used < 0) {
      if (side == kClient) {
        is_over_ = true;
        return true;
      }
      end_server();
      return true;
    }
  }
  while (socket.out.size() < Stream::kMostOut) {
    const std::uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session, &data);
    if (size <= 0) break;
    socket.out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    moves = true;
  }
  return moves;
}

std::size_t Http2::waiting(Side side) const {
  std::size_t size = 0;
  for (const auto& [id, exchange] : exchanges_) size += exchange->flows[side].data.size();
  return size;
}

// What is on its way is answered for it; the client is told to go.
void Http2::end_server() {
  if (std::exchange(server_is_gone_, true)) return;
  std::vector<Exchange*> open;
  for (auto& [id, exchange] : exchanges_) open.push_back(exchange.get());
  for (Exchange* const exchange : open) {
    exchange->is_closed[kServer] = true;
    end_request(*exchange);
    if (exchange->is_refused || exchange->flows[kClient].is_ended) continue;
    if (exchange->has_answer) {
      reset(kClient, *exchange, NGHTTP2_INTERNAL_ERROR);
    } else if (exchange->ids[kServer] >= 0) {
      refuse(*exchange, {502, "the origin has closed the connection without an answer", ""});
    }
  }
  nghttp2_submit_goaway(sessions_[kClient].get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(sessions_[kClient].get()),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

Http2::Exchange* Http2::find(Side side, std::int32_t id) {
  if (side == kServer) {
    const auto twin = by_server_.find(id);
    if (twin == by_server_.end()) return nullptr;
    id = twin->second;
  }
  const auto found = exchanges_.find(id);
  return found == exchanges_.end() ? nullptr : found->second.get();
}

bool Http2::add_field(Side side, std::int32_t id, std::string_view name, std::string_view value) {
  constexpr std::size_t kMostFields = 256;
  Exchange* const exchange = find(side, id);
  if (exchange == nullptr) return true;
  const std::size_t size = name.size() + value.size() + 32;
  exchange->fields_size += size;
  if (exchange->fields_size > kMostHead || exchange->fields.size() >= kMostFields) return false;
  if (side == kClient) {
    exchange->heads_size += size;
    heads_size_ += size;
    if (heads_size_ > kMostHeads) return false;
  }
  exchange->fields.push_back({std::string(name), std::string(value)});
  return true;
}

void Http2::take_head(Side side, std::int32_t id, bool is_end) {
  Exchange* const exchange = find(side, id);
  if (exchange == nullptr) return;
  const bool is_first = side == kClient ? exchange->head.method.empty()
                                        : find_field(exchange->fields, ":status") != nullptr;
  if (is_first && side == kClient) return take_request(*exchange, is_end);
  if (is_first) return take_answer(*exchange, is_end);
  take_trailers(side, *exchange);
  if (is_end) take_end(side, *exchange);
}

void Http2::take_trailers(Side side, Exchange& exchange) {
  Fields trailers = std::exchange(exchange.fields, {});
  exchange.fields_size = 0;
  const Status readable = check_trailers(trailers);
  if (side == kClient) {
    std::optional<Refusal> refusal = judge_trailers(context_, peer_, trailers);
    if (!readable.ok()) refusal = unreadable(readable.error().message);
    if (refusal) return refuse(exchange, *refusal);
  } else if (!readable.ok()) {
    return refuse(exchange, {502, "the origin's answer cannot be read", ""});
  } else {
    context_.credentials().redact(trailers);
  }
  exchange.flows[other(side)].trailers = std::move(trailers);
}

// --- requests ---

// The authority that they name. Of CONNECT it is the target.
std::string Http2::take_fields(Exchange& exchange) {
  Head& head = exchange.head;
  std::string authority;
  for (Field& field : std::exchange(exchange.fields, {})) {
    if (field.name == ":method") head.method = field.value;
    if (field.name == ":path") head.target = field.value;
    if (field.name == ":authority") authority = field.value;
    if (!field.name.starts_with(':')) head.fields.push_back(std::move(field));
  }
  exchange.fields_size = 0;
  if (head.method == "CONNECT") head.target = authority;
  return authority;
}

void Http2::take_request(Exchange& exchange, bool is_end) {
  Head& head = exchange.head;
  const std::string authority = take_fields(exchange);
  // For what refuses it before it is judged.
  exchange.judged.exchange = noted(peer_, head.method, head.target);
  // nghttp2 has seen to it that one of the two is there.
  const Field* const host = find_field(head.fields, "host");
  const bool differs =
      host != nullptr && !authority.empty() && lower_case(host->value) != lower_case(authority);
  if (host == nullptr) head.fields.push_back({"host", authority});
  head.body = is_end ? Body::kNone : Body::kChunked;
  if (is_end) {
    exchange.request_ended = true;
    exchange.flows[kServer].is_ended = true;
  }
  const Status fields = check_fields(head.fields);
  if (differs || !fields.ok()) {
    exchange.judged = judge(context_, peer_, head);
    return refuse(exchange,
                  unreadable(differs ? "Host and :authority differ" : fields.error().message));
  }
  const std::int32_t id = exchange.ids[kClient];
  context_.renew_values(peer_, [weak = weak_from_this(), id] {
    const auto self = weak.lock();
    if (self && !self->is_over_) self->begin(id);
  });
}

void Http2::begin(std::int32_t id) {
  Exchange* const exchange = find(kClient, id);
  if (exchange == nullptr || exchange->is_refused) return;
  exchange->judged = judge(context_, peer_, exchange->head);
  if (exchange->judged.refusal) return refuse(*exchange, *exchange->judged.refusal);
  if (!no_server_.empty()) return refuse(*exchange, {502, no_server_, ""});
  if (server_is_gone_) return reset(kClient, *exchange, NGHTTP2_REFUSED_STREAM);
  if (!exchange->judged.asks) return send_request(*exchange);
  const Field* const length = find_field(exchange->head.fields, "content-length");
  const std::string size = exchange->request_ended ? "0" : length == nullptr ? "" : length->value;
  const auto answer = [weak = weak_from_this(), id](bool is_allowed) {
    const auto self = weak.lock();
    Exchange* const asked = self && !self->is_over_ ? self->find(kClient, id) : nullptr;
    if (asked == nullptr || asked->is_refused) return;
    if (is_allowed) {
      self->send_request(*asked);
    } else {
      self->refuse(*asked, not_allowed(asked->judged));
    }
    self->wake_();
  };
  exchange->question = context_.ask(peer_, exchange->judged, size, answer);
}

// It is told of before the origin can see any of it.
void Http2::send_request(Exchange& exchange) {
  tell_now(exchange);
  Pairs head = {{":method", exchange.head.method},
                {":scheme", "https"},
                {":authority", peer_.authority()},
                {":path", exchange.head.target}};
  append(head, exchange.head.fields);
  Flow& flow = exchange.flows[kServer];
  const bool has_body = !flow.is_ended || !flow.data.empty() || !flow.trailers.empty();
  submit(kServer, exchange, head, has_body);
  wake_();
}

// --- answers ---

void Http2::take_answer(Exchange& exchange, bool is_end) {
  Fields fields = std::exchange(exchange.fields, {});
  exchange.fields_size = 0;
  if (exchange.is_refused) return;
  const int status =
      static_cast<int>(parse_count(find_field(fields, ":status")->value, 999).value_or(0));
  if (status == 101 || !check_fields(fields).ok()) {
    return refuse(exchange, {502, "the origin's answer cannot be read", ""});
  }
  if (redacts_ && !is_end && !is_plain_body(fields)) {
    return refuse(exchange, {502,
                             "the origin's answer is encoded, and cannot be searched for the "
                             "credential",
                             ""});
  }
  Pairs head = {{":status", std::to_string(status)}};
  std::erase_if(fields, [](const Field& field) { return field.name.starts_with(':'); });
  context_.credentials().redact(fields);
  append(head, fields);
  if (status < 200 && ++exchange.interim > kMostInterim) {
    return refuse(exchange, {502, "the origin sends interim answers without end", ""});
  }
  if (status < 200) return submit_interim(exchange, head);
  exchange.has_answer = true;
  exchange.judged.exchange.status = status;
  if (is_end) {
    tell_answer(exchange);
  } else {
    tell_now(exchange);
  }
  exchange.flows[kClient].is_ended = is_end;
  submit(kClient, exchange, head, !is_end);
}

// --- bodies ---

void Http2::take_data(Side side, std::int32_t id, std::string_view data) {
  Exchange* const exchange = find(side, id);
  if (exchange == nullptr || exchange->is_refused ||
      (side == kClient && exchange->is_closed[kServer])) {
    nghttp2_session_consume_stream(sessions_[side].get(), id, data.size());
    return;
  }
  if (side == kServer) {
    exchange->judged.exchange.bytes_received += data.size();
    exchange->flows[kClient].data += redacts_ ? exchange->redactor.feed(data) : std::string(data);
    return resume(kClient, *exchange);
  }
  exchange->judged.exchange.bytes_sent += data.size();
  exchange->held += data;
  if (const auto name = context_.credentials().find(exchange->held)) {
    return refuse(*exchange, misplaced(peer_, *name));
  }
  const std::size_t open = context_.credentials().open_end(exchange->held);
  const std::size_t passed = exchange->held.size() - open;
  exchange->flows[kServer].data += exchange->held.substr(0, passed);
  exchange->held.erase(0, passed);
  resume(kServer, *exchange);
}

void Http2::take_end(Side side, Exchange& exchange) {
  if (exchange.is_refused) {
    exchange.request_ended = exchange.request_ended || side == kClient;
    return;
  }
  Flow& flow = exchange.flows[other(side)];
  if (side == kClient) {
    flow.data += std::exchange(exchange.held, {});
    exchange.request_ended = true;
  } else {
    flow.data += exchange.redactor.finish();
    tell_answer(exchange);
  }
  flow.is_ended = true;
  resume(other(side), exchange);
}

void Http2::resume(Side side, const Exchange& exchange) {
  if (!exchange.flows[side].is_open || exchange.ids[side] < 0) return;
  nghttp2_session_resume_data(sessions_[side].get(), exchange.ids[side]);
  wake_();
}

// --- ends ---

void Http2::note_sent(Side side, const nghttp2_frame& frame) {
  if (side != kClient || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  Exchange* const exchange = find(kClient, frame.hd.stream_id);
  if (exchange == nullptr) return;
  exchange->flows[kClient].is_sent = true;
  end_request(*exchange);
}

// A request that was answered goes on as long as the origin takes it. What then still comes is
// passed over for a while: a client that is reset at once may not see what it was answered.
void Http2::end_request(Exchange& exchange) {
  const bool goes_on = !exchange.is_refused && !exchange.is_closed[kServer];
  if (!exchange.flows[kClient].is_sent || exchange.request_ended || goes_on) return;
  std::string& unsent = exchange.flows[kServer].data;
  const std::size_t size =
      std::exchange(unsent, {}).size() + std::exchange(exchange.held, {}).size();
  const std::int32_t id = exchange.ids[kClient];
  nghttp2_session_consume_stream(sessions_[kClient].get(), id, size);
  exchange.limit = context_.loop().after(kLinger, [this, id] {
    if (const Exchange* const late = find(kClient, id)) reset(kClient, *late, NGHTTP2_NO_ERROR);
  });
  wake_();
}

void Http2::note_closed(Side side, std::int32_t id, std::uint32_t error) {
  Exchange* const exchange = find(side, id);
  if (exchange == nullptr) return;
  exchange->is_closed[side] = true;
  if (side == kClient && exchange->head.method.empty()) note_unread(*exchange);
  const Side twin = other(side);
  const bool is_whole = exchange->flows[kClient].is_ended && exchange->flows[kClient].is_open;
  // It has been answered, and the rest of what it says is on its way.
  if (side == kClient && exchange->request_ended && exchange->flows[kClient].is_sent &&
      !exchange->is_refused && exchange->ids[kServer] >= 0 && !exchange->is_closed[kServer]) {
    return;
  }
  if (side == kServer) end_request(*exchange);
  if (exchange->ids[twin] >= 0 && !exchange->is_closed[twin]) {
    if (side == kClient) {
      reset(kServer, *exchange, NGHTTP2_CANCEL);
    } else if (!is_whole && !exchange->is_refused) {
      break_off(*exchange, error);
    }
  }
  if (side != kClient && !exchange->is_closed[kClient]) return;
  tell(*exchange);
  if (exchange->ids[kServer] >= 0) by_server_.erase(exchange->ids[kServer]);
  heads_size_ -= exchange->heads_size;
  exchanges_.erase(exchange->ids[kClient]);
}

// By the origin, or it was malformed. Clients take some codes for a request that is whole, or that
// was not looked at.
void Http2::break_off(Exchange& exchange, std::uint32_t error) {
  if (!exchange.has_answer && error == NGHTTP2_REFUSED_STREAM) {
    return reset(kClient, exchange, error);
  }
  if (!exchange.has_answer) return refuse(exchange, {502, "the origin has given no answer", ""});
  const std::string why = nghttp2_http2_strerror(error);
  tell_denial(context_, peer_, exchange.judged.exchange,
              {502, "the origin's answer ends too early: " + why, ""});
  if (error == NGHTTP2_NO_ERROR || error == NGHTTP2_CANCEL || error == NGHTTP2_REFUSED_STREAM) {
    error = NGHTTP2_INTERNAL_ERROR;
  }
  reset(kClient, exchange, error);
}

// nghttp2 has found a request malformed, or it was too large.
void Http2::note_unread(Exchange& exchange) {
  take_fields(exchange);
  Head& head = exchange.head;
  if (head.method.empty()) head.method = "(unreadable)";
  if (head.target.empty()) head.target = "/";
  exchange.judged.exchange =
      noted(peer_, escape_control_bytes(head.method), escape_control_bytes(head.target));
  exchange.is_refused = exchange.has_told = true;
  tell_refusal(context_, peer_, number_of(exchange), exchange.judged.exchange,
               unreadable("the head of the request cannot be read"));
}

void Http2::reset(Side side, const Exchange& exchange, std::uint32_t error) {
  if (exchange.ids[side] < 0 || exchange.is_closed[side]) return;
  nghttp2_submit_rst_stream(sessions_[side].get(), NGHTTP2_FLAG_NONE, exchange.ids[side], error);
  wake_();
}

void Http2::refuse(Exchange& exchange, const Refusal& refusal) {
  if (std::exchange(exchange.is_refused, true)) return;
  context_.withdraw(exchange.question);
  tell_refusal(context_, peer_, number_of(exchange), exchange.judged.exchange, refusal);
  exchange.has_told = true;
  reset(kServer, exchange, NGHTTP2_CANCEL);
  if (exchange.has_answer) return reset(kClient, exchange, NGHTTP2_INTERNAL_ERROR);
  Flow& flow = exchange.flows[kClient];
  flow.data = refusal_json(peer_, exchange.judged.exchange, refusal);
  flow.is_ended = true;
  flow.trailers.clear();
  const bool has_body = exchange.head.method != "HEAD";
  submit(kClient, exchange,
         {{":status", std::to_string(refusal.status)},
          {"content-type", std::string(refusal_type(exchange.head.fields))},
          {"content-length", std::to_string(flow.data.size())}},
         has_body);
  wake_();
}

void Http2::tell_answer(Exchange& exchange) {
  if (exchange.request_ended) return tell(exchange);
  tell_now(exchange);
}

bool Http2::waits_for_operator(const Exchange& exchange) {
  return exchange.judged.asks && !exchange.number;
}

// One that was not judged was none.
void Http2::tell(Exchange& exchange) {
  if (exchange.judged.url.empty()) return;
  if (std::exchange(exchange.has_told, true)) return;
  if (!waits_for_operator(exchange)) return tell_now(exchange);
  context_.withdraw(exchange.question);
  tell_refusal(context_, peer_, number_of(exchange), exchange.judged.exchange,
               not_allowed(exchange.judged));
}

void Http2::tell_now(Exchange& exchange) {
  context_.tell_exchange(peer_, number_of(exchange), exchange.judged.exchange);
}

std::size_t Http2::number_of(Exchange& exchange) {
  if (!exchange.number) exchange.number = next_number_++;
  return *exchange.number;
}

}  // namespace sbx::http
