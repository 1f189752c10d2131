// SPDX-License-Identifier: Apache-2.0
// The sessions of nghttp2: their callbacks, and what is handed to them.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "http/http2.h"

namespace sbx::http {
namespace {

constexpr std::uint32_t kStreams = 128;
constexpr std::uint32_t kWindow = 128 << 10;
constexpr std::int32_t kConnectionWindow = 1 << 20;
constexpr std::size_t kMostExchanges = 512;

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// What belongs to a connection of HTTP/1 alone.
bool is_for_http1(const Field& field) {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"host", "connection", "keep-alive", "proxy-connection",
                                       "transfer-encoding", "upgrade", "http2-settings"});
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return is_named(field, name); });
}

std::vector<nghttp2_nv> values_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<nghttp2_nv> out;
  out.reserve(pairs.size());
  for (const auto& [name, value] : pairs) {
    out.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                   reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
                   value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  return out;
}

}  // namespace

// Which side a callback is of, it knows by the session.
struct Http2::Callbacks {
  static Side side_of(const Http2& self, const nghttp2_session* session) {
    return session == self.sessions_[kClient].get() ? kClient : kServer;
  }
  static int on_begin_headers(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    auto& self = *static_cast<Http2*>(user);
    const Side side = side_of(self, session);
    if (side == kClient && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      if (self.exchanges_.size() >= kMostExchanges) return NGHTTP2_ERR_CALLBACK_FAILURE;
      auto made = std::make_unique<Exchange>(self.context_.credentials());
      made->ids[kClient] = frame->hd.stream_id;
      self.exchanges_[frame->hd.stream_id] = std::move(made);
    }
    return 0;
  }
  static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t, void* user) {
    auto& self = *static_cast<Http2*>(user);
    const bool is_taken = self.add_field(side_of(self, session), frame->hd.stream_id,
                                         text_of(name, name_size), text_of(value, value_size));
    return is_taken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    auto& self = *static_cast<Http2*>(user);
    const Side side = side_of(self, session);
    const bool is_end = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_HEADERS) self.take_head(side, frame->hd.stream_id, is_end);
    if (frame->hd.type == NGHTTP2_DATA && is_end) {
      if (Exchange* const exchange = self.find(side, frame->hd.stream_id)) {
        self.take_end(side, *exchange);
      }
    }
    // Its last streams are served; the client opens new ones elsewhere.
    if (frame->hd.type == NGHTTP2_GOAWAY && side == kServer) {
      nghttp2_submit_goaway(self.sessions_[kClient].get(), NGHTTP2_FLAG_NONE,
                            nghttp2_session_get_last_proc_stream_id(self.sessions_[kClient].get()),
                            NGHTTP2_NO_ERROR, nullptr, 0);
    }
    return 0;
  }
  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t id,
                     const std::uint8_t* data, std::size_t size, void* user) {
    auto& self = *static_cast<Http2*>(user);
    self.owed_[side_of(self, session)] += size;
    self.take_data(side_of(self, session), id, text_of(data, size));
    return 0;
  }
  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    auto& self = *static_cast<Http2*>(user);
    self.note_sent(side_of(self, session), *frame);
    return 0;
  }
  static int on_not_sent(nghttp2_session* session, const nghttp2_frame* frame, int, void* user) {
    auto& self = *static_cast<Http2*>(user);
    const Side side = side_of(self, session);
    if (side != kServer || frame->hd.type != NGHTTP2_HEADERS) return 0;
    if (Exchange* const exchange = self.find(side, frame->hd.stream_id)) {
      self.reset(kClient, *exchange, NGHTTP2_REFUSED_STREAM);
    }
    return 0;
  }
  static int on_closed(nghttp2_session* session, std::int32_t id, std::uint32_t error, void* user) {
    auto& self = *static_cast<Http2*>(user);
    self.note_closed(side_of(self, session), id, error);
    return 0;
  }
  static ssize_t on_read(nghttp2_session* session, std::int32_t id, std::uint8_t* to,
                         std::size_t most, std::uint32_t* flags, nghttp2_data_source*, void* user) {
    auto& self = *static_cast<Http2*>(user);
    return self.give_data(side_of(self, session), id, to, most, flags);
  }
};

bool Http2::open() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* options = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&options) != 0) {
    return false;
  }
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks::on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::on_data);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Callbacks::on_sent);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, Callbacks::on_not_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::on_closed);
  nghttp2_option_set_no_auto_window_update(options, 1);
  nghttp2_option_set_max_settings(options, 32);
  nghttp2_session* made[2] = {nullptr, nullptr};
  nghttp2_session_server_new2(&made[kClient], callbacks, this, options);
  nghttp2_session_client_new2(&made[kServer], callbacks, this, options);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(options);
  for (const Side side : {kClient, kServer}) {
    sessions_[side].reset(made[side]);
    if (made[side] == nullptr) return false;
    std::vector<nghttp2_settings_entry> settings = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kMostHead}};
    settings.push_back(
        side == kClient ? nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kStreams}
                        : nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
    if (nghttp2_submit_settings(made[side], NGHTTP2_FLAG_NONE, settings.data(), settings.size()) !=
        0) {
      return false;
    }
    nghttp2_session_set_local_window_size(made[side], NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
  }
  return true;
}

void Http2::append(Pairs& to, const Fields& fields) {
  for (const Field& field : fields) {
    if (!is_for_http1(field)) to.emplace_back(lower_case(field.name), field.value);
  }
}

void Http2::submit(Side side, Exchange& exchange, const Pairs& head, bool has_body) {
  nghttp2_session* const session = sessions_[side].get();
  const std::vector<nghttp2_nv> values = values_of(head);
  nghttp2_data_provider provider{{.ptr = nullptr}, Callbacks::on_read};
  exchange.flows[side].is_open = true;
  if (side == kClient) {
    nghttp2_submit_response(session, exchange.ids[kClient], values.data(), values.size(),
                            has_body ? &provider : nullptr);
    return;
  }
  const std::int32_t id = nghttp2_submit_request(session, nullptr, values.data(), values.size(),
                                                 has_body ? &provider : nullptr, nullptr);
  if (id < 0) return reset(kClient, exchange, NGHTTP2_REFUSED_STREAM);
  exchange.ids[kServer] = id;
  by_server_[id] = exchange.ids[kClient];
}

void Http2::submit_interim(const Exchange& exchange, const Pairs& head) {
  const std::vector<nghttp2_nv> interim = values_of(head);
  nghttp2_submit_headers(sessions_[kClient].get(), NGHTTP2_FLAG_NONE, exchange.ids[kClient],
                         nullptr, interim.data(), interim.size(), nullptr);
}

ssize_t Http2::give_data(Side side, std::int32_t id, std::uint8_t* to, std::size_t most,
                         std::uint32_t* flags) {
  Exchange* const exchange = find(side, id);
  if (exchange == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  Flow& flow = exchange->flows[side];
  const std::size_t size = std::min(most, flow.data.size());
  if (size == 0 && !flow.is_ended) return NGHTTP2_ERR_DEFERRED;
  std::copy_n(flow.data.data(), size, to);
  flow.data.erase(0, size);
  const Side from = other(side);
  if (size > 0 && !exchange->is_refused && exchange->ids[from] >= 0 && !exchange->is_closed[from]) {
    nghttp2_session_consume_stream(sessions_[from].get(), exchange->ids[from], size);
  }
  if (flow.is_ended && flow.data.empty()) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!flow.trailers.empty()) {
      Pairs pairs;
      append(pairs, flow.trailers);
      const std::vector<nghttp2_nv> values = values_of(pairs);
      if (nghttp2_submit_trailer(sessions_[side].get(), id, values.data(), values.size()) == 0) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
      }
    }
  }
  return static_cast<ssize_t>(size);
}

}  // namespace sbx::http
