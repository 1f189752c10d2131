// SPDX-License-Identifier: Apache-2.0
// The loop, and the order in which a server ends.
#include "rpc/server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "base/loop.h"

namespace sbx {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

class Server::Impl {
 public:
  Impl(Dispatcher& dispatcher, ServerOptions options)
      : dispatcher_(dispatcher), service_(dispatcher.service()), options_(std::move(options)) {}

  void add_stream(Connection::Ends ends, bool is_operator) {
    stream_ = add(std::move(ends), is_operator);
  }

  Status run() {
    SBX_CHECK_OK(loop_.open());
    spare_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const bool is_watched =
        watch(service_watch_, service_.poll_fd(), [] {}) &&  // it is stepped in every turn
        watch(listener_watch_, options_.listener.get(), [this] { accept_clients(); }) &&
        watch(signal_watch_, options_.signal_fd, [this] { on_signal(); }) &&
        watch(owner_watch_, options_.owner_pidfd, [this] { on_owner(); });
    if (!is_watched) {
      return call_failed(ErrorCode::kSetupFailed, "epoll_ctl", "epoll_ctl",
                         "raise the limit of open files (ulimit -n)");
    }
    idle_since_ = Clock::now();
    serve_clients();
    while (stage_ != Stage::kDone) {
      wait();
      service_.step();
      serve_clients();
      advance();
    }
    if (!is_unwritable_) return {};
    return Error{ErrorCode::kOutputUnwritable, "answers cannot be written to stdout", "stdout",
                 "give sbx-run a stdout that is open"};
  }

 private:
  enum class Stage : std::uint8_t {
    kServing,
    kDraining,  // nothing more comes from the stream; its calls get a moment
    kEnding,    // every task is being ended
    kFarewell,  // clients take what waits for them
    kDone,
  };
  struct Client {
    std::unique_ptr<Connection> connection;
    Loop::Watch in;
    Loop::Watch out;               // of its second end, where it has one
    bool is_always_ready = false;  // a regular file: epoll(7) does not take it
  };
  using Clients = std::map<std::uint64_t, Client>;

  std::uint64_t add(Connection::Ends ends, bool is_operator) {
    const std::uint64_t serial = next_serial_++;
    Client& client = clients_[serial];
    client.connection = std::make_unique<Connection>(std::move(ends), is_operator, dispatcher_,
                                                     options_.greeting, options_.limits.connection);
    return serial;
  }

  bool watch(Loop::Watch& watch, int fd, const std::function<void()>& callback) {
    if (fd >= 0) watch = loop_.watch(fd, EPOLLIN, [callback](std::uint32_t) { callback(); });
    return fd < 0 || watch.is_on();
  }

  // --- one turn of the loop

  void wait() {
    const int at_most = wait_milliseconds();
    stage_before_ = stage_;
    loop_.step(at_most);
  }

  int wait_milliseconds() const {
    if (stage_ != stage_before_) return 0;
    std::optional<Clock::time_point> until = service_.deadline();
    const auto no_later = [&](Clock::time_point time) {
      if (!until || time < *until) until = time;
    };
    if (stage_ != Stage::kServing) no_later(stage_until_);
    if (stage_ == Stage::kServing && may_leave()) no_later(idle_since_ + options_.limits.idle);
    for (const auto& [serial, client] : clients_) {
      const bool is_ready = client.connection->has_lines() || is_leaving(*client.connection) ||
                            (client.is_always_ready && client.connection->wants_input());
      if (is_ready) return 0;
    }
    return Loop::wait_ms(until);
  }

  void on_owner() {
    owner_watch_.stop();
    end(options_.limits.owner_gone, "owner");
  }

  static bool is_closed(std::uint32_t events) { return (events & (EPOLLERR | EPOLLHUP)) != 0; }

  static void on_first_end(Connection& connection, std::uint32_t events) {
    if (is_closed(events) && connection.in_fd() == connection.out_fd()) connection.lose_reader();
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && connection.wants_input()) {
      connection.read();
    }
  }

  void serve_clients() {
    shed_fullest();
    for (auto at = clients_.begin(); at != clients_.end();) {
      Client& client = at->second;
      Connection& connection = *client.connection;
      if (client.is_always_ready && connection.wants_input()) connection.read();
      connection.work();
      connection.flush();
      if (is_leaving(connection) && !connection.has_lines()) connection.hang_up();
      // Its other half is open, and nothing is left to be said.
      const bool is_finished = stage_ == Stage::kServing && connection.is_at_end() &&
                               connection.is_answered() && connection.is_flushed();
      if (connection.is_gone() || (is_finished && at->first != stream_)) {
        at = remove(at);
      } else {
        update(client);
        ++at;
      }
    }
  }

  // Nobody reads, and all has come.
  static bool is_leaving(const Connection& connection) {
    return !connection.has_reader() && connection.is_at_end();
  }

  // Each client is bounded, but there may be many.
  void shed_fullest() {
    std::size_t total = 0;
    std::size_t most = 0;
    Connection* fullest = nullptr;
    for (const auto& [serial, client] : clients_) {
      const std::size_t bytes = client.connection->held_bytes();
      total += bytes;
      if (bytes < most) continue;
      most = bytes;
      fullest = client.connection.get();
    }
    if (total > options_.limits.held_bytes && fullest != nullptr) fullest->hang_up();
  }

  Clients::iterator remove(Clients::iterator at) {
    if (at->first == stream_) {
      const Connection& connection = *at->second.connection;
      stream_ended_ = true;
      is_unwritable_ = connection.in_fd() != connection.out_fd() && !connection.is_flushed();
    }
    idle_since_ = Clock::now();
    return clients_.erase(at);
  }

  void update(Client& client) {
    Connection& connection = *client.connection;
    const std::uint32_t in = connection.wants_input() ? EPOLLIN : 0U;
    const std::uint32_t out = connection.wants_output() ? EPOLLOUT : 0U;
    const auto on_in = [&connection](std::uint32_t events) { on_first_end(connection, events); };
    if (connection.in_fd() == connection.out_fd()) {
      return ask(client.in, connection.in_fd(), in | out, on_in);
    }
    if (in != 0 && !client.is_always_ready) {
      ask(client.in, connection.in_fd(), in, on_in);
      client.is_always_ready = !client.in.is_on();
    } else {
      // A pipe whose writers have gone reports that for ever (EPOLLHUP), asked or not.
      client.in.stop();
    }
    ask(client.out, connection.out_fd(), out, [&connection](std::uint32_t events) {
      if (is_closed(events)) connection.hang_up();
    });
  }

  void ask(Loop::Watch& watch, int fd, std::uint32_t wanted, const Loop::OnEvents& callback) {
    if (watch.is_on()) return watch.want(wanted);
    watch = loop_.watch(fd, wanted, callback);
  }

  // --- clients of the socket

  void accept_clients() {
    for (int i = 0; i < 16; ++i) {
      OwnedFd fd(accept4(options_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd.is_open() && (errno == EMFILE || errno == ENFILE)) return shed_client();
      if (!fd.is_open()) return;
      if (const auto error = refuse_client(fd.get())) {
        const std::string line = write_error("null", kRpcFailed, *error) + "\n";
        // One that cannot take a line at once does not get it.
        (void)send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        continue;
      }
      add(Connection::Ends{std::move(fd), OwnedFd(), false}, false);
    }
  }

  std::optional<Error> refuse_client(int fd) const {
    struct ucred peer {};
    socklen_t size = sizeof peer;
    const bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    if (!is_known || (peer.uid != geteuid() && peer.uid != 0)) {
      return Error{ErrorCode::kNotGranted, "this server is another user's", "", ""};
    }
    if (clients_.size() >= options_.limits.max_clients) {
      return Error{ErrorCode::kTooMany,
                   "this server has " + std::to_string(clients_.size()) + " clients", "",
                   "close some of them"};
    }
    return std::nullopt;
  }

  // Without a descriptor for it a waiting client would wake us for ever.
  void shed_client() {
    spare_.reset();
    OwnedFd(accept4(options_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
    spare_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }

  // --- the end

  void on_signal() {
    struct signalfd_siginfo info {};
    if (read(options_.signal_fd, &info, sizeof info) != sizeof info) return;
    if (stage_ == Stage::kServing || stage_ == Stage::kDraining) return end(options_.limits.ending);
    stage_ = Stage::kDone;
  }

  void enter(Stage stage, std::chrono::milliseconds at_most) {
    stage_ = stage;
    stage_until_ = Clock::now() + at_most;
  }

  void end(std::chrono::milliseconds at_most, const std::string& reason = "shutdown") {
    if (stage_ != Stage::kServing && stage_ != Stage::kDraining) {
      stage_until_ = std::min(stage_until_, Clock::now() + at_most);
      return;
    }
    if (options_.before_leaving) options_.before_leaving();
    listener_watch_.stop();
    options_.listener.reset();
    for (auto& [serial, client] : clients_) client.connection->stop_reading();
    service_.end_all(reason);
    enter(Stage::kEnding, at_most);
  }

  bool may_leave() const {
    return options_.listener.is_open() && clients_.empty() && service_.is_idle();
  }

  void advance() {
    const Clock::time_point now = Clock::now();
    const bool is_late = stage_ != Stage::kServing && now >= stage_until_;
    switch (stage_) {
      case Stage::kServing:
        return advance_serving(now);
      case Stage::kDraining:
        if (is_late || stream_ended_ || is_answered() || service_.wants_shutdown()) {
          end(options_.limits.ending);
        }
        return;
      case Stage::kEnding:
        if (service_.is_idle() || is_late) enter(Stage::kFarewell, options_.limits.farewell);
        return;
      case Stage::kFarewell:
        if (is_late || is_flushed()) stage_ = Stage::kDone;
        return;
      case Stage::kDone:
        return;
    }
  }

  void advance_serving(Clock::time_point now) {
    if (service_.wants_shutdown() || stream_ended_) return end(options_.limits.ending);
    if (stream_ && clients_.at(*stream_).connection->is_at_end()) {
      return enter(Stage::kDraining, options_.limits.drain);
    }
    if (!may_leave()) {
      idle_since_ = now;
    } else if (now - idle_since_ >= options_.limits.idle) {
      end(options_.limits.ending);
    }
  }

  bool is_answered() const {
    const auto stream = clients_.find(stream_.value_or(0));
    return stream == clients_.end() || stream->second.connection->is_answered();
  }
  bool is_flushed() const {
    return std::all_of(clients_.begin(), clients_.end(),
                       [](const auto& client) { return client.second.connection->is_flushed(); });
  }

  Dispatcher& dispatcher_;
  Service& service_;
  ServerOptions options_;
  Loop loop_;
  Loop::Watch service_watch_;
  Loop::Watch listener_watch_;
  Loop::Watch signal_watch_;
  Loop::Watch owner_watch_;
  OwnedFd spare_;
  Clients clients_;
  std::uint64_t next_serial_ = 1;
  std::optional<std::uint64_t> stream_;
  bool stream_ended_ = false;
  bool is_unwritable_ = false;  // the stream's second end, of which answers were left
  Clock::time_point idle_since_;
  Stage stage_ = Stage::kServing;
  Stage stage_before_ = Stage::kServing;  // when it was last waited for something
  Clock::time_point stage_until_;
};

Server::Server(Dispatcher& dispatcher, ServerOptions options)
    : impl_(std::make_unique<Impl>(dispatcher, std::move(options))) {}
Server::~Server() = default;
void Server::add_stream(Connection::Ends ends, bool is_operator) {
  impl_->add_stream(std::move(ends), is_operator);
}
Status Server::run() { return impl_->run(); }

}  // namespace sbx
