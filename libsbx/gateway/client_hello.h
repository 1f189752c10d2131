// SPDX-License-Identifier: Apache-2.0
// What a TCP client says in plain before TLS takes over → the server name of each ClientHello in it
// (RFC 8446, RFC 6066). Strict and bounded: what claims to be TLS and does not parse is bad.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sbx {

// Bytes of the stream beyond which no ClientHello is waited for.
inline constexpr std::size_t kMaxClientHello = 16384;

// Reads a client's stream from its first byte until no ClientHello can come in plain any more.
// There may be two: a server asks for another one by HelloRetryRequest, and alerts, a change of
// cipher and early data may stand before and between them.
class HelloReader {
 public:
  enum class State : std::uint8_t {
    kReading,  // more may come: feed what follows
    kNotTls,   // from the first byte on; nothing is left to judge
    kSealed,   // the rest is encrypted; nothing is left to judge
    kBad,      // starts as TLS does, and is malformed or beyond kMaxClientHello
    kRefused,  // the judge said no
  };
  // Called with the server name of each hello: lower case, no trailing dot; empty: none.
  using Judge = std::function<bool(const std::string& server_name)>;
  explicit HelloReader(Judge judge) : judge_(std::move(judge)) {}

  // `bytes` follow those of the last call. To be called only while kReading.
  State feed(std::string_view bytes);
  // How many of the bytes fed last are still to be judged: part of a hello, or of what may be one.
  std::size_t held() const { return held_; }

 private:
  State read_header(char byte);
  State start_payload();
  State read_message_byte(char byte);
  State end_hello();

  Judge judge_;
  std::string header_;            // of the current record
  std::size_t left_ = 0;          // of its payload
  std::string message_;           // handshake: its header, and the body of a hello
  std::size_t message_size_ = 0;  // of both
  std::size_t skip_ = 0;          // of the body of any other message
  std::size_t held_ = 0;
  bool was_judged_ = false;     // the first hello
  bool early_data_ = false;     // it said that data comes before the server's answer
  bool other_message_ = false;  // one of TLS 1.2, such as a key exchange
  bool cipher_changed_ = false;
  bool may_be_sealed_ = false;  // the current record
};

}  // namespace sbx
