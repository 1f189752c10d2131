// SPDX-License-Identifier: Apache-2.0
// The loop, and the order in which a server ends.
#include "rpc/server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace sbx {
namespace {

using Clock = std::chrono::steady_clock;

// What an event is about; a connection's are its serial times two, plus one for its second end.
enum : std::uint64_t { kService, kListener, kSignals, kOwner, kFirstConnection };

Error failed(const char* what) {
  return Error{ErrorCode::kSetupFailed, std::string(what) + ": " + errno_text(errno), what,
               "raise the limit of open files (ulimit -n)", errno};
}

}  // namespace

class Server::Impl {
 public:
  Impl(Dispatcher& dispatcher, ServerOptions options)
      : dispatcher_(dispatcher), service_(dispatcher.service()), options_(std::move(options)) {}

  void add_stream(Connection::Ends ends, bool is_operator) {
    stream_ = add(std::move(ends), is_operator);
  }

  Status run() {
    epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll_.is_open()) return failed("epoll_create1");
    spare_.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!watch(service_.poll_fd(), kService) || !watch(options_.listener.get(), kListener) ||
        !watch(options_.signal_fd, kSignals) || !watch(options_.owner_pidfd, kOwner)) {
      return failed("epoll_ctl");
    }
    idle_since_ = Clock::now();
    serve_clients();
    while (stage_ != Stage::kDone) {
      wait();
      service_.step();
      serve_clients();
      advance();
    }
    return {};
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
    std::uint32_t events = 0;      // asked of epoll for its first end
    std::uint32_t out_events = 0;  // for its second, where it has one
    bool is_in_watched = false;
    bool is_out_watched = false;
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

  bool watch(int fd, std::uint64_t key) const {
    if (fd < 0) return true;
    struct epoll_event event {};
    event.events = EPOLLIN;
    event.data.u64 = key;
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }

  // --- one turn of the loop

  void wait() {
    std::array<struct epoll_event, 64> events{};
    const int at_most = wait_milliseconds();
    stage_before_ = stage_;
    const int count =
        epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), at_most);
    for (int i = 0; i < count; ++i) on_event(events[static_cast<std::size_t>(i)]);
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
    if (!until) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }

  void on_event(const struct epoll_event& event) {
    switch (event.data.u64) {
      case kService:
        return;  // step() is called in every turn
      case kListener:
        return accept_clients();
      case kSignals:
        return on_signal();
      case kOwner:
        options_.owner_pidfd = unwatch(options_.owner_pidfd);
        return end(options_.limits.owner_gone);
      default:
        return on_client(event.data.u64 - kFirstConnection, event.events);
    }
  }

  void on_client(std::uint64_t key, std::uint32_t events) {
    const auto found = clients_.find(key / 2);
    if (found == clients_.end()) return;
    Connection& connection = *found->second.connection;
    const bool is_second_end = key % 2 == 1;
    const bool is_closed = (events & (EPOLLERR | EPOLLHUP)) != 0;
    if (is_closed && is_second_end) return connection.hang_up();
    if (is_closed && connection.in_fd() == connection.out_fd()) connection.lose_reader();
    if (!is_second_end && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 &&
        connection.wants_input()) {
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
        update(at->first, client);
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
    if (at->first == stream_) stream_ended_ = true;
    idle_since_ = Clock::now();
    return clients_.erase(at);
  }

  void update(std::uint64_t serial, Client& client) const {
    Connection& connection = *client.connection;
    const std::uint32_t in = connection.wants_input() ? EPOLLIN : 0U;
    const std::uint32_t out = connection.wants_output() ? EPOLLOUT : 0U;
    const std::uint64_t key = kFirstConnection + serial * 2;
    if (connection.in_fd() == connection.out_fd()) {
      return ask(connection.in_fd(), in | out, key, client.events, client.is_in_watched);
    }
    if (in != 0 && !client.is_always_ready) {
      ask(connection.in_fd(), in, key, client.events, client.is_in_watched);
      client.is_always_ready = !client.is_in_watched;
    } else if (client.is_in_watched) {
      // A pipe whose writers have gone reports that for ever (EPOLLHUP), asked or not.
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.in_fd(), nullptr);
      client.is_in_watched = false;
    }
    ask(connection.out_fd(), out, key + 1, client.out_events, client.is_out_watched);
  }

  void ask(int fd, std::uint32_t wanted, std::uint64_t key, std::uint32_t& asked,
           bool& is_watched) const {
    if (is_watched && wanted == asked) return;
    struct epoll_event event {};
    event.events = wanted;
    event.data.u64 = key;
    const int operation = is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(epoll_.get(), operation, fd, &event) == 0) is_watched = true;
    asked = wanted;
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

  int unwatch(int fd) const {
    if (fd >= 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    return -1;
  }

  void enter(Stage stage, std::chrono::milliseconds at_most) {
    stage_ = stage;
    stage_until_ = Clock::now() + at_most;
  }

  void end(std::chrono::milliseconds at_most) {
    if (stage_ != Stage::kServing && stage_ != Stage::kDraining) {
      stage_until_ = std::min(stage_until_, Clock::now() + at_most);
      return;
    }
    if (options_.before_leaving) options_.before_leaving();
    unwatch(options_.listener.get());
    options_.listener.reset();
    for (auto& [serial, client] : clients_) client.connection->stop_reading();
    service_.end_all();
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
  OwnedFd epoll_;
  OwnedFd spare_;
  Clients clients_;
  std::uint64_t next_serial_ = 1;
  std::optional<std::uint64_t> stream_;
  bool stream_ended_ = false;
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
