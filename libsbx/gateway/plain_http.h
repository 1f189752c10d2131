// SPDX-License-Identifier: Apache-2.0
// What a TCP client says in plain → the hosts that its first request names, where it speaks HTTP/1.
// Only that: what rules need is read by a process of its own (http/).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sbx {

// Stands for those that HTTP/2 would name out of sight: like none that a connection is made to.
inline constexpr std::string_view kUnseenHosts = "(http/2.0)";

struct PlainHttp {
  enum class State : std::uint8_t {
    kBeginning,  // it may become a request, and is none that a server could act on
    kReading,    // a request whose head has not come whole yet: nothing of it may go on
    kOther,      // no HTTP
    kHead,       // the head is whole: `hosts` are there
  };
  State state = State::kOther;
  // Lower case, without port and final dot. Of an absolute target, and of each Host: which one a
  // server goes by is its own affair.
  std::vector<std::string> hosts{};
};

// `bytes` are the stream so far.
PlainHttp read_plain_http(std::string_view bytes);

}  // namespace sbx
