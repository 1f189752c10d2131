// SPDX-License-Identifier: Apache-2.0
// Relay: two connected sockets → what each sends reaches the other, with bounded memory. An end of
// one direction is passed on as an end, a reset as a reset; who reads slowly is waited for.
// Never blocks. The caller must have SIGPIPE ignored: splice(2) has no MSG_NOSIGNAL.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.h"
#include "base/owned_fd.h"
#include "gateway/client_hello.h"
#include "gateway/plain_http.h"
#include "model/outcome.h"

namespace sbx {

// A pipe that bytes pass through without being copied.
struct SplicePipe {
  OwnedFd read_end;
  OwnedFd write_end;
};

// What all relays of one gateway share: one buffer for what is passed on at once, and pipes for
// those that move much.
class RelayPool {
 public:
  static constexpr std::size_t kScratchSize = std::size_t{128} * 1024;
  static constexpr std::size_t kMaxPipes = 16;

  RelayPool() : scratch_(kScratchSize) {}
  char* scratch() { return scratch_.data(); }
  // nullopt: all are in use, or the system has none to give.
  std::optional<SplicePipe> take();
  void give_back(SplicePipe pipe) { idle_.push_back(std::move(pipe)); }
  void drop() { --made_; }

 private:
  std::vector<char> scratch_;
  std::vector<SplicePipe> idle_;
  std::size_t made_ = 0;
};

class Relay {
 public:
  // Called once. Must not destroy the relay; bury it.
  using OnEnd = std::function<void()>;
  // Called with the server name of a ClientHello ("" where it cannot be read); false: refuse.
  using JudgeHello = std::function<bool(bool readable, const std::string& server_name)>;

  // The same with a Host of a first request in plain.
  using JudgeHost = std::function<bool(const std::string& host)>;

  // Both sockets non-blocking and connected. With `judge`, nothing that the client sends goes on
  // until it is known to be no TLS, or each ClientHello in it was judged. With `is_sought`, each
  // Host of later requests that is one is judged as well.
  Relay(Loop& loop, RelayPool& pool, OwnedFd client, OwnedFd server,
        std::shared_ptr<AllowedConnection> counts, JudgeHello judge, OnEnd end,
        JudgeHost judge_host = nullptr, RequestScan::IsSought is_sought = nullptr);
  ~Relay();
  void start();
  // Whether the client, or the server, has written what is not yet handed on.
  bool has_unsent(bool from_client) const;

 private:
  // From side i to side 1 - i.
  struct Flow {
    std::string unsent;
    std::size_t sent = 0;  // of `unsent`
    std::optional<SplicePipe> pipe;
    std::size_t piped = 0;
    bool is_bulk = false;
    bool at_end = false;
    bool end_passed_on = false;
    bool is_blocked() const { return sent < unsent.size() || piped > 0; }
  };
  struct Side {
    OwnedFd socket;
    Loop::Watch watch;
  };

  void on_events(int side, std::uint32_t events);
  bool pump(int from);
  enum class Step { kMore, kWait, kBroken };
  Step read_some(int from);
  Step copy_some(int from);
  Step splice_some(int from);
  Step hear_hello();
  Step hear_request();
  bool hear_more(std::string_view bytes);
  bool flush(int from);
  void pass_on_end(int from);
  void count(int from, std::size_t bytes);
  void release_pipe(Flow& flow);
  void update_interest(bool hung_up, int side);
  void finish(bool reset);

  Loop& loop_;
  RelayPool& pool_;
  Side sides_[2];
  Flow flows_[2];
  std::shared_ptr<AllowedConnection> counts_;
  JudgeHello judge_;
  JudgeHost judge_host_;
  RequestScan::IsSought is_sought_;
  std::optional<RequestScan> scan_;    // with is_sought_, unless it is no HTTP
  std::optional<HelloReader> reader_;  // with judge_, until nothing is left to judge
  bool is_plain_ = false;              // no TLS: it may be a request
  std::string hello_;                  // what it holds back; of a request, all of it
  std::size_t passed_ = 0;             // of that
  OnEnd end_;
  bool ended_ = false;
};

// Bytes that can be read at once.
bool has_unread(int socket_fd);

// Closes so that the peer sees a reset, not an end.
void reset_socket(OwnedFd socket);

}  // namespace sbx
