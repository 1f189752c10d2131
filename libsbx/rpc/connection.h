// SPDX-License-Identifier: Apache-2.0
// Connection: one client of a server. Lines in → calls; answers and notifications → lines out, held
// back while the client does not read. Owned and polled by the server; never blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/owned_fd.h"
#include "rpc/dispatcher.h"
#include "rpc/framing.h"
#include "rpc/json_rpc.h"

namespace sbx {

struct ConnectionLimits {
  std::size_t max_line_bytes = kMaxLineBytes;
  std::size_t hold_bytes = std::size_t{1} << 20;    // while more waits, no request is read
  std::size_t drop_bytes = std::size_t{128} << 20;  // a client for which more waits is dropped
  std::size_t max_calls = 4096;                     // that are not answered yet
  std::chrono::milliseconds turn{5};                // of its lines, before others have theirs
};

// What the server says to every client.
struct Greeting {
  std::string members;         // of the answer to `hello`, as JSON: `"version":"…",…`
  std::string operator_token;  // empty: nobody becomes the operator by a token
};

class Connection {
 public:
  struct Ends {
    OwnedFd in;
    OwnedFd out;             // not open: `in` is both
    bool may_block = false;  // the descriptors are shared with others, who expect them to block
  };

  // `dispatcher` and `greeting` must outlive this.
  Connection(Ends ends, bool is_operator, Dispatcher& dispatcher, const Greeting& greeting,
             const ConnectionLimits& limits);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int in_fd() const { return ends_.in.get(); }
  int out_fd() const { return ends_.out.is_open() ? ends_.out.get() : ends_.in.get(); }

  void read();   // when in_fd() can be read
  void work();   // takes the lines that have come, while nothing holds them back
  void flush();  // when there is something to write
  void hang_up() { is_gone_ = true; }
  // Nobody reads answers any more. What has been sent already is still taken.
  void lose_reader();
  void stop_reading() {
    is_at_end_ = true;
    has_lines_ = false;
  }
  void send(std::string line);

  bool wants_input() const { return !is_at_end_ && !is_gone_ && !is_held(); }
  bool wants_output() const { return !is_gone_ && !queue_.empty(); }
  bool has_lines() const { return !is_gone_ && has_lines_ && !is_held(); }
  bool is_at_end() const { return is_at_end_; }  // nothing more comes
  bool is_answered() const { return calls_in_flight_.empty() && !has_lines_; }
  bool is_flushed() const { return queue_.empty(); }
  bool is_gone() const { return is_gone_; }
  bool has_reader() const { return has_reader_; }
  // What is kept for it: of a line that is not whole, of what it does not read, of its calls.
  std::size_t held_bytes() const;

 private:
  bool is_held() const { return queue_.bytes() > limits_.hold_bytes; }
  void handle(const Line& line);
  void handle(RpcMessage message);
  void call(RpcMessage message);
  void answer(std::uint64_t serial, const Result<WriteValue>& result);
  Result<std::string> hello(std::string_view params);

  Ends ends_;
  Dispatcher& dispatcher_;
  const Greeting& greeting_;
  ConnectionLimits limits_;
  ClientId client_;
  bool is_operator_;  // or has shown the token
  LineReader reader_;
  LineQueue queue_;
  std::map<std::uint64_t, std::string> calls_in_flight_;  // by serial: the id; empty: none
  std::size_t id_bytes_ = 0;                              // of calls_in_flight_
  std::uint64_t next_serial_ = 1;
  int refused_tokens_ = 0;
  bool has_lines_ = false;
  bool is_at_end_ = false;
  bool is_gone_ = false;
  bool has_reader_ = true;
};

}  // namespace sbx
