// SPDX-License-Identifier: Apache-2.0
// The first bytes of a TCP stream → whether it opens with a TLS ClientHello, and the server name in
// it (RFC 8446, RFC 6066). Strict and bounded: what claims to be TLS and does not parse is bad.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sbx {

struct ClientHello {
  enum class Kind : std::uint8_t {
    kNeedMore,  // may still become any of the others
    kNotTls,
    kHello,
    kBad,  // starts as TLS does, and is malformed or beyond kMaxClientHello
  };
  Kind kind = Kind::kNeedMore;
  std::string server_name;  // lower case, no trailing dot; empty: none
};

// Bytes of the stream beyond which no ClientHello is waited for.
inline constexpr std::size_t kMaxClientHello = 16384;

// `bytes` is all that came so far.
ClientHello read_client_hello(std::string_view bytes);

}  // namespace sbx
