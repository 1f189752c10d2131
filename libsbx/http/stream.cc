// SPDX-License-Identifier: Apache-2.0
// OpenSSL's non-blocking calls, and the same without TLS.
#include "http/stream.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace sbx::http {

bool Stream::watch(Loop& loop, std::function<void()> on_ready) {
  watch_ = loop.watch(socket_.get(), EPOLLIN, [this, call = std::move(on_ready)](std::uint32_t) {
    may_read_ = true;
    call();
  });
  return watch_.is_on();
}

void Stream::use(OwnedSsl ssl) {
  ssl_ = std::move(ssl);
  SSL_set_fd(ssl_.get(), socket_.get());
  SSL_set_read_ahead(ssl_.get(), 1);
  SSL_set_default_read_buffer_len(ssl_.get(), kMostIn / 2);
}

bool Stream::take_tls_error(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return true;
    case SSL_ERROR_WANT_WRITE:
      wants_write_ = true;
      return true;
    case SSL_ERROR_ZERO_RETURN:
      at_end_ = true;
      return true;
    default:
      is_broken_ = true;
      return false;
  }
}

Stream::Handshake Stream::handshake() {
  ERR_clear_error();
  wants_write_ = false;
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Handshake::kDone;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_CLIENT_HELLO_CB) return Handshake::kHello;
  if (error == SSL_ERROR_WANT_READ) return Handshake::kWaits;
  if (error != SSL_ERROR_WANT_WRITE) return Handshake::kFailed;
  wants_write_ = true;
  return Handshake::kWaits;
}

bool Stream::fill() {
  static std::array<char, std::size_t{16} << 10> piece;  // a record's most
  if (may_read_) wants_write_ = false;
  // What came before a reset can be read, though writing has failed.
  while (may_read_ && !at_end_ && in.size() < kMostIn) {
    const std::size_t count = ssl_ ? read_tls(piece) : read_plain(piece);
    in.append(piece.data(), count);
    bytes_read_ += count;
    // Else a further call would most likely find nothing; the loop tells when there is more.
    const bool has_more = ssl_ && SSL_has_pending(ssl_.get()) == 1;
    if (count == 0 || (count < piece.size() && !has_more)) may_read_ = false;
  }
  return !is_broken_;
}

std::size_t Stream::read_tls(std::span<char> to) {
  std::size_t count = 0;
  ERR_clear_error();
  const int result = SSL_read_ex(ssl_.get(), to.data(), to.size(), &count);
  if (result == 1) return count;
  // An end without a farewell is one as well: whoever counts on the length sees it.
  at_end_ = SSL_get_error(ssl_.get(), result) == SSL_ERROR_SSL &&
            ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  if (!at_end_ && !take_tls_error(result)) at_end_ = true;
  return 0;
}

std::size_t Stream::read_plain(std::span<char> to) {
  const ssize_t got = recv(socket_.get(), to.data(), to.size(), MSG_DONTWAIT);
  if (got < 0 && errno != EAGAIN && errno != EINTR) is_broken_ = true;
  if (got == 0 || is_broken_) at_end_ = true;
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

bool Stream::flush() {
  std::size_t sent = 0;
  while (sent < out.size() && !is_broken_) {
    std::size_t count = 0;
    if (ssl_) {
      ERR_clear_error();
      const int result = SSL_write_ex(ssl_.get(), out.data() + sent, out.size() - sent, &count);
      if (result != 1) {
        take_tls_error(result);
        break;
      }
    } else {
      const ssize_t put = send(socket_.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
      if (put < 0 && errno != EAGAIN && errno != EINTR) is_broken_ = true;
      if (put <= 0) break;
      count = static_cast<std::size_t>(put);
    }
    sent += count;
  }
  out.erase(0, sent);
  bytes_written_ += sent;
  if (out.empty() && ends_ && !has_ended_ && !is_broken_) {
    has_ended_ = true;
    if (ssl_ && SSL_is_init_finished(ssl_.get()) != 0) {
      ERR_clear_error();
      SSL_shutdown(ssl_.get());
    }
    shutdown(socket_.get(), SHUT_WR);
  }
  return !is_broken_;
}

void Stream::reset_by_closing(bool is_on) {
  const linger at_once{.l_onoff = is_on ? 1 : 0, .l_linger = 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void Stream::update(bool wants_input) {
  if (!watch_.is_on()) return;
  std::uint32_t events = 0;
  if (wants_input && !at_end_ && in.size() < kMostIn) events |= EPOLLIN;
  if (!out.empty() || wants_write_) events |= EPOLLOUT;
  watch_.want(events);
}

}  // namespace sbx::http
