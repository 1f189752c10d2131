// SPDX-License-Identifier: Apache-2.0
// The client's hello waits while the origin is spoken to: only then is known what to answer.
#include "http/connection.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "http/http2.h"

namespace sbx::http {
namespace {

constexpr auto kHandshakeLimit = std::chrono::seconds(20);
constexpr auto kFinishLimit = std::chrono::milliseconds(1500);  // a run's end waits for 2 s
constexpr int kMostRounds = 16;
constexpr int kMostSteps = 4;  // whose bytes go out together
constexpr std::string_view kH1 = "\x08http/1.1";
constexpr std::string_view kH2 = "\x02h2";

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// The last that OpenSSL has to say, or what it found in a certificate.
std::string tls_reason(SSL* ssl) {
  if (const long verdict = SSL_get_verify_result(ssl); verdict != X509_V_OK) {
    return X509_verify_cert_error_string(verdict);
  }
  const unsigned long error = ERR_peek_last_error();
  const char* const text = error == 0 ? nullptr : ERR_reason_error_string(error);
  return text == nullptr ? "the connection was closed" : text;
}

}  // namespace

Connection::Connection(Context& context, Peer peer, OwnedFd client, OwnedFd server, OnEnd end)
    : context_(context),
      peer_(std::move(peer)),
      end_(std::move(end)),
      client_(std::move(client)),
      server_(std::move(server)) {}

void Connection::start() {
  const auto call = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->advance();
  };
  if (!client_.watch(context_.loop(), call) || !server_.watch(context_.loop(), call)) return end();
  advance();
}

void Connection::finish() {
  if (std::exchange(client_is_gone_, true)) return;
  finish_limit_ = context_.loop().after(kFinishLimit, [this] { end(); });
  advance();
}

void Connection::advance() {
  if (std::exchange(is_advancing_, true)) {
    must_advance_ = true;
    return;
  }
  const auto self = shared_from_this();
  bool moves = true;
  for (int round = 0; moves && round < kMostRounds && stage_ != Stage::kOver; ++round) {
    must_advance_ = false;
    moves = step() || must_advance_;
  }
  is_advancing_ = false;
  if (stage_ == Stage::kOver) return;
  if (client_is_gone_ && stage_ == Stage::kOrigin) return end();  // nothing but its hello was said
  if (moves) {                                                    // others get their turn
    again_ = context_.loop().after(std::chrono::milliseconds(0), [this] { advance(); });
  }
  const bool is_early = stage_ < Stage::kDialogue;
  client_.update(is_early ? stage_ != Stage::kOrigin : server_.out.size() < Stream::kMostOut);
  server_.update(is_early ? stage_ == Stage::kOrigin : client_.out.size() < Stream::kMostOut);
}

bool Connection::step() {
  switch (stage_) {
    case Stage::kFirstByte:
      return look_at_first_byte();
    case Stage::kHello:
      return step_hello();
    case Stage::kOrigin:
      return step_origin();
    case Stage::kClient:
      return step_client();
    case Stage::kDialogue:
      return step_dialogue();
    case Stage::kOver:
      return false;
  }
  return false;
}

bool Connection::look_at_first_byte() {
  constexpr unsigned char kHandshakeRecord = 0x16;
  unsigned char byte = 0;
  const ssize_t got = recv(client_.fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    end();
    return true;
  }
  limit_ = context_.loop().after(kHandshakeLimit, [this] { end(); });
  if (byte == kHandshakeRecord) {
    peer_.is_tls = true;
    OwnedSsl ssl = context_.authority().accept(peer_.name);
    if (!ssl) {
      end();
      return true;
    }
    SSL_set_app_data(ssl.get(), this);
    SSL_CTX_set_client_hello_cb(SSL_get_SSL_CTX(ssl.get()), on_hello, nullptr);
    SSL_CTX_set_alpn_select_cb(SSL_get_SSL_CTX(ssl.get()), on_protocols, nullptr);
    client_.use(std::move(ssl));
    stage_ = Stage::kHello;
    return true;
  }
  begin_dialogue();
  return true;
}

// --- the client's hello ---

int Connection::on_hello(SSL* ssl, int* alert, void* /*unused*/) {
  auto* const self = static_cast<Connection*>(SSL_get_app_data(ssl));
  if (!self->read_hello(ssl)) {
    *alert = SSL_AD_UNRECOGNIZED_NAME;
    return SSL_CLIENT_HELLO_ERROR;
  }
  // A second one comes when the origin is known already.
  return self->stage_ == Stage::kHello ? SSL_CLIENT_HELLO_RETRY : SSL_CLIENT_HELLO_SUCCESS;
}

// Its server name is the one that was connected to, or absent.
bool Connection::read_hello(SSL* ssl) {
  const unsigned char* data = nullptr;
  std::size_t size = 0;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data, &size) == 1) {
    // One entry: lengths of 2, a type of 1 and a length of 2 bytes.
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::string name = size > 5 ? lower_case(text.substr(5)) : std::string();
    const bool is_whole = size > 5 && data[2] == 0 &&
                          (data[3] << 8 | data[4]) == int(name.size()) &&
                          (data[0] << 8 | data[1]) == int(size) - 2;
    if (name.ends_with('.')) name.pop_back();
    if (!is_whole || name != peer_.name) {
      context_.tell_denial(peer_, "tls_sni",
                           escape_control_bytes(name) + " at " + peer_.authority(),
                           "network.http has rules for the host of the connection alone");
      return false;
    }
  }
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &data,
                                &size) != 1) {
    return true;
  }
  has_protocols_ = true;
  std::string_view list(reinterpret_cast<const char*>(data), size);
  for (list.remove_prefix(std::min<std::size_t>(2, list.size())); !list.empty();) {
    const std::size_t length = static_cast<unsigned char>(list.front()) + std::size_t{1};
    const std::string_view entry = list.substr(0, length);
    offers_h1_ = offers_h1_ || entry == kH1;
    offers_h2_ = offers_h2_ || entry == kH2;
    list.remove_prefix(entry.size());
  }
  return true;
}

int Connection::on_protocols(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                             const unsigned char* /*in*/, unsigned /*in_size*/, void* /*unused*/) {
  auto* const self = static_cast<Connection*>(SSL_get_app_data(ssl));
  std::string_view chosen;
  if (self->is_h2_) chosen = kH2;
  if (!self->is_h2_ && self->offers_h1_) chosen = kH1;
  if (chosen.empty()) return SSL_TLSEXT_ERR_NOACK;
  *out = bytes_of(chosen) + 1;
  *out_size = static_cast<unsigned char>(chosen.size() - 1);
  return SSL_TLSEXT_ERR_OK;
}

bool Connection::step_hello() {
  switch (client_.handshake()) {
    case Stream::Handshake::kWaits:
      return false;
    case Stream::Handshake::kHello:
      return begin_origin();
    default:
      end();
      return true;
  }
}

// --- the origin ---

bool Connection::begin_origin() {
  OwnedSsl ssl = context_.authority().connect(peer_.name);
  if (!ssl) {
    end();
    return true;
  }
  std::string offer;
  if (offers_h2_) offer += kH2;
  if (offers_h1_) offer += kH1;
  if (!offer.empty()) {
    SSL_set_alpn_protos(ssl.get(), bytes_of(offer), static_cast<unsigned>(offer.size()));
  }
  server_.use(std::move(ssl));
  stage_ = Stage::kOrigin;
  limit_ = context_.loop().after(kHandshakeLimit, [this] {
    origin_failed("it has not answered the TLS handshake within 20 s");
    advance();
  });
  return true;
}

void Connection::origin_failed(const std::string& reason) {
  no_server_ = "no trusted connection to " + peer_.authority() + ": " + reason;
  server_.stop();
  is_h2_ = offers_h2_ && !offers_h1_;
  stage_ = Stage::kClient;
  limit_ = context_.loop().after(kHandshakeLimit, [this] { end(); });
}

// None is one as well: HTTP/1.
bool Connection::is_offered(std::string_view protocol) const {
  return protocol.empty() || (offers_h2_ && protocol == kH2.substr(1)) ||
         (offers_h1_ && protocol == kH1.substr(1));
}

bool Connection::step_origin() {
  switch (server_.handshake()) {
    case Stream::Handshake::kWaits:
      return false;
    case Stream::Handshake::kDone: {
      const unsigned char* chosen = nullptr;
      unsigned size = 0;
      SSL_get0_alpn_selected(server_.ssl(), &chosen, &size);
      const std::string_view protocol(reinterpret_cast<const char*>(chosen), size);
      if (!is_offered(protocol)) {
        origin_failed("it has chosen a protocol that was not offered");
        return true;
      }
      is_h2_ = protocol == kH2.substr(1);
      stage_ = Stage::kClient;
      limit_ = context_.loop().after(kHandshakeLimit, [this] { end(); });
      return true;
    }
    default:
      origin_failed(tls_reason(server_.ssl()));
      return true;
  }
}

bool Connection::step_client() {
  switch (client_.handshake()) {
    case Stream::Handshake::kWaits:
    case Stream::Handshake::kHello:
      return false;
    case Stream::Handshake::kDone:
      begin_dialogue();
      return true;
    case Stream::Handshake::kFailed:
      context_.tell_denial(
          peer_, "tls",
          peer_.authority() + " (the program refused: " + tls_reason(client_.ssl()) + ")",
          "network.http ends TLS for this host: the program must trust the session's authority, "
          "which SSL_CERT_FILE names");
      end();
      return true;
  }
  return false;
}

// --- the dialogue ---

void Connection::begin_dialogue() {
  limit_.stop();
  stage_ = Stage::kDialogue;
  const auto wake = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->advance();
  };
  if (is_h2_) {
    dialogue_ = std::make_shared<Http2>(context_, peer_, client_, server_, no_server_, wake);
  } else {
    dialogue_ = std::make_shared<Http1>(context_, peer_, client_, server_, no_server_, wake);
  }
}

bool Connection::step_dialogue() {
  // First: what was full may take more, and nothing else would tell.
  client_.flush();
  if (no_server_.empty()) server_.flush();
  if (server_.out.size() < Stream::kMostOut) client_.fill();
  if (no_server_.empty() && client_.out.size() < Stream::kMostOut) server_.fill();
  bool moves = false;
  for (int i = 0; i < kMostSteps && dialogue_->advance(); ++i) moves = true;
  const bool had_ended = client_.has_ended_output();
  const bool had_unsent = !server_.out.empty();
  const auto count_full = [this] {
    return int{client_.out.size() >= Stream::kMostOut} +
           int{server_.out.size() >= Stream::kMostOut};
  };
  const int full = count_full();
  client_.flush();
  if (no_server_.empty()) server_.flush();
  // What has room again takes more: no event would tell of it.
  moves = moves || client_.has_ended_output() != had_ended || count_full() < full ||
          (had_unsent && server_.out.empty());
  if (client_.is_broken()) {
    client_.stop();  // else it would wake the loop again and again
    client_.fill_now();
    finish();
  }
  const bool is_done = client_is_gone_ && client_.is_at_end() && !dialogue_->has_unsent();
  if (dialogue_->is_over() || is_done) {
    end();
    return true;
  }
  return moves;
}

void Connection::end() {
  if (stage_ == Stage::kOver) return;
  stage_ = Stage::kOver;
  limit_.stop();
  again_.stop();
  finish_limit_.stop();
  if (dialogue_) dialogue_->conclude();
  client_.stop();
  server_.stop();
  end_(server_.bytes_written(), server_.bytes_read());
}

}  // namespace sbx::http
