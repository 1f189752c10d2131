// SPDX-License-Identifier: Apache-2.0
// What a TCP client says in plain → the Host of its first request, where it speaks HTTP/1. Only
// that: what rules need is read by a process of its own (http/).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sbx {

struct PlainHttp {
  enum class State : std::uint8_t {
    kBeginning,  // it may become a request, and is none that a server could act on
    kReading,    // a request whose Host has not come yet: nothing of it may go on
    kOther,      // no HTTP
    kHost,       // `host` is there, or the head has ended without one (empty)
  };
  State state = State::kOther;
  std::string host;  // lower case, without port and final dot
};

// `bytes` are the stream so far.
PlainHttp read_plain_http(std::string_view bytes);

}  // namespace sbx
