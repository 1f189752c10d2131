// SPDX-License-Identifier: Apache-2.0
// What a TCP client says in plain → the hosts that its first request names, where it speaks HTTP/1,
// and those that later ones may. Only that: what rules need is read by a process of its own
// (http/).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
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

// All that a client says in plain, from its first byte on → whether any request names a host of
// some, unless the first line names no version of HTTP. Bodies are not told from heads, which a
// server may frame in another way: each line that names a version begins a head. Holds little,
// whatever comes.
class RequestScan {
 public:
  using IsSought = std::function<bool(const std::string& host)>;
  explicit RequestScan(IsSought is_sought) : is_sought_(std::move(is_sought)) {}
  // The stream goes on. The first host that was sought, found by now; empty: none.
  const std::string& feed(std::string_view bytes);
  // Whether it was no HTTP: then nothing is looked for.
  bool is_over() const { return is_over_; }

 private:
  void append(std::string_view part);
  void look(std::string_view part);
  void read_head_line();
  void end_line();
  void note(const std::vector<std::string>& hosts);

  IsSought is_sought_;
  std::string found_;
  bool is_http_ = false;  // the first line names a version
  bool is_over_ = false;
  std::string line_;     // that has not ended; of a long one its end
  bool is_cut_ = false;  // a long one
  bool names_version_ = false;
  std::string target_;  // what the line would ask for if it named one
  bool is_in_head_ = false;
  bool is_host_ = false;  // the line before
};

}  // namespace sbx
