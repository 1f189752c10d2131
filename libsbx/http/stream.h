// SPDX-License-Identifier: Apache-2.0
// Stream: one connected socket, with or without TLS → bytes in and out, each in a bounded buffer.
// Never blocks; whoever owns it calls advance() when the socket is ready.
#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/loop.h"
#include "base/owned_fd.h"

namespace sbx::http {

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using OwnedSsl = std::unique_ptr<SSL, FreeSsl>;

class Stream {
 public:
  static constexpr std::size_t kMostIn = std::size_t{128} << 10;
  static constexpr std::size_t kMostOut = std::size_t{256} << 10;

  explicit Stream(OwnedFd socket) : socket_(std::move(socket)) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // `on_ready` is called when there may be something to do.
  bool watch(Loop& loop, std::function<void()> on_ready);
  void use(OwnedSsl ssl);
  SSL* ssl() const { return ssl_.get(); }
  int fd() const { return socket_.get(); }

  enum class Handshake : std::uint8_t { kWaits, kHello, kDone, kFailed };
  // kHello: the other side's hello has come, and nobody has said yet what to answer.
  Handshake handshake();

  // Reads what is there, as far as the loop has told of any; writes what waits. False: it is
  // broken.
  bool fill();
  bool flush();
  // Reads whatever has been told.
  bool fill_now() {
    may_read_ = true;
    return fill();
  }
  // What is waited for from now on.
  void update(bool wants_input);

  std::string in;
  std::string out;
  bool is_at_end() const { return at_end_; }
  bool is_broken() const { return is_broken_; }
  // Once all of `out` is written, the other side sees the end of this one.
  void end_output() { ends_ = true; }
  bool has_ended_output() const { return has_ended_; }
  // Whether the other side sees a reset when this one is closed, be it by this process's death.
  void reset_by_closing(bool is_on);
  void stop() { watch_.stop(); }
  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  bool take_tls_error(int result);
  std::size_t read_tls(std::span<char> to);
  std::size_t read_plain(std::span<char> to);

  OwnedFd socket_;
  OwnedSsl ssl_;
  Loop::Watch watch_;
  bool at_end_ = false;
  bool is_broken_ = false;
  bool ends_ = false;
  bool has_ended_ = false;
  bool may_read_ = true;
  bool wants_write_ = false;  // TLS does, whatever it was asked for
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
};

}  // namespace sbx::http
