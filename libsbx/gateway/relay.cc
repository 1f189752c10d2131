// SPDX-License-Identifier: Apache-2.0
// Relay: bytes go through the shared buffer, and only what the other side does not take at once is
// kept. A stream that fills the buffer moves on to a pipe, where the kernel passes pages along.
#include "gateway/relay.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace sbx {
namespace {

constexpr int kRounds = 8;  // of reading, before others get their turn
constexpr int kPipeSize = 1 << 20;
constexpr std::size_t kStillBulk = std::size_t{32} * 1024;
constexpr int kClient = 0;
constexpr int kServer = 1;

bool must_wait() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

void reset_socket(OwnedFd socket) {
  const linger abort{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
}

bool has_unread(int socket_fd) {
  int size = 0;
  return ioctl(socket_fd, FIONREAD, &size) == 0 && size > 0;
}

std::optional<SplicePipe> RelayPool::take() {
  if (!idle_.empty()) {
    SplicePipe pipe = std::move(idle_.back());
    idle_.pop_back();
    return pipe;
  }
  int ends[2];
  if (made_ >= kMaxPipes || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
  ++made_;
  // Beyond the user's share of pipe pages this fails, and the pipe stays small.
  fcntl(ends[1], F_SETPIPE_SZ, kPipeSize);
  return SplicePipe{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

Relay::Relay(Loop& loop, RelayPool& pool, OwnedFd client, OwnedFd server,
             std::shared_ptr<AllowedConnection> counts, JudgeHello judge, OnEnd end,
             JudgeHost judge_host, RequestScan::IsSought is_sought)
    : loop_(loop),
      pool_(pool),
      counts_(std::move(counts)),
      judge_(std::move(judge)),
      judge_host_(std::move(judge_host)),
      is_sought_(std::move(is_sought)),
      end_(std::move(end)) {
  sides_[kClient].socket = std::move(client);
  sides_[kServer].socket = std::move(server);
  if (judge_) reader_.emplace([this](const std::string& name) { return judge_(true, name); });
}

Relay::~Relay() {
  for (Flow& flow : flows_) release_pipe(flow);
}

void Relay::start() {
  for (const int side : {kClient, kServer}) {
    sides_[side].watch =
        loop_.watch(sides_[side].socket.get(), EPOLLIN,
                    [this, side](std::uint32_t events) { on_events(side, events); });
    if (!sides_[side].watch.is_on()) {
      finish(true);
      return;
    }
  }
}

bool Relay::has_unsent(bool from_client) const {
  const int from = from_client ? kClient : kServer;
  if (ended_ || flows_[from].end_passed_on) return false;
  // A hello that is not whole yet never goes on by itself.
  return flows_[from].is_blocked() || has_unread(sides_[from].socket.get());
}

void Relay::on_events(int side, std::uint32_t events) {
  const int other = 1 - side;
  bool broken = false;
  // What came before a reset is still passed on.
  if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0) broken = !pump(side);
  if (!broken && (events & EPOLLOUT) != 0) broken = !pump(other);
  if (broken || (events & EPOLLERR) != 0) {
    finish(true);
    return;
  }
  if (flows_[0].end_passed_on && flows_[1].end_passed_on) {
    finish(false);
    return;
  }
  update_interest((events & EPOLLHUP) != 0, side);
  update_interest(false, other);
}

// EPOLLHUP cannot be masked: a side that has nothing more to say or take until the other one moves
// is not watched meanwhile.
void Relay::update_interest(bool hung_up, int side) {
  const Flow& out = flows_[side];
  std::uint32_t events = 0;
  if (!out.at_end && !out.is_blocked()) events |= EPOLLIN;
  if (flows_[1 - side].is_blocked()) events |= EPOLLOUT;
  Loop::Watch& watch = sides_[side].watch;
  if (events == 0 && hung_up) {
    watch.stop();
  } else if (watch.is_on()) {
    watch.want(events);
  } else if (events != 0) {
    watch = loop_.watch(sides_[side].socket.get(), events,
                        [this, side](std::uint32_t seen) { on_events(side, seen); });
    // Not to be had: nothing would ever move again.
    if (!watch.is_on()) finish(true);
  }
}

// False when the connection is broken.
bool Relay::pump(int from) {
  Flow& flow = flows_[from];
  for (int round = 0; round < kRounds; ++round) {
    if (!flush(from)) return false;
    if (flow.is_blocked()) return true;
    if (flow.at_end) {
      pass_on_end(from);
      return true;
    }
    const Step step = read_some(from);
    if (step != Step::kMore) return step == Step::kWait;
  }
  if (!flush(from)) return false;
  if (flow.at_end && !flow.is_blocked()) pass_on_end(from);
  return true;
}

void Relay::pass_on_end(int from) {
  if (!flows_[from].end_passed_on) shutdown(sides_[1 - from].socket.get(), SHUT_WR);
  flows_[from].end_passed_on = true;
}

Relay::Step Relay::read_some(int from) {
  Flow& flow = flows_[from];
  if (from == kClient && reader_) return hear_hello();
  if (flow.is_bulk && !flow.pipe) flow.pipe = pool_.take();
  if (flow.is_bulk && flow.pipe) return splice_some(from);
  return copy_some(from);
}

Relay::Step Relay::copy_some(int from) {
  Flow& flow = flows_[from];
  char* const scratch = pool_.scratch();
  const ssize_t count =
      recv(sides_[from].socket.get(), scratch, RelayPool::kScratchSize, MSG_DONTWAIT);
  if (count < 0) return must_wait() ? Step::kWait : Step::kBroken;
  if (count == 0) {
    flow.at_end = true;
    return Step::kMore;
  }
  const auto size = static_cast<std::size_t>(count);
  const bool is_scanned = from == kClient && scan_;
  if (is_scanned && !hear_more({scratch, size})) return Step::kBroken;
  const ssize_t passed = send(sides_[1 - from].socket.get(), scratch, size, MSG_NOSIGNAL);
  if (passed < 0 && !must_wait()) return Step::kBroken;
  const std::size_t sent = passed < 0 ? 0 : static_cast<std::size_t>(passed);
  this->count(from, sent);
  if (sent < size) flow.unsent.assign(scratch + sent, size - sent);
  flow.is_bulk = size >= kStillBulk && !is_scanned;
  return Step::kMore;
}

Relay::Step Relay::splice_some(int from) {
  Flow& flow = flows_[from];
  const ssize_t count = splice(sides_[from].socket.get(), nullptr, flow.pipe->write_end.get(),
                               nullptr, kPipeSize, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  if (count > 0) {
    flow.piped = static_cast<std::size_t>(count);
    flow.is_bulk = flow.piped >= kStillBulk;
    return Step::kMore;
  }
  if (count < 0 && !must_wait()) return Step::kBroken;
  release_pipe(flow);
  if (count < 0) return Step::kWait;
  flow.at_end = true;
  return Step::kMore;
}

// What the client says in plain, until no hello can follow.
Relay::Step Relay::hear_hello() {
  Flow& flow = flows_[kClient];
  const std::size_t had = hello_.size();
  hello_.resize(kMaxClientHello);
  const ssize_t count =
      recv(sides_[kClient].socket.get(), hello_.data() + had, kMaxClientHello - had, MSG_DONTWAIT);
  hello_.resize(had + static_cast<std::size_t>(count > 0 ? count : 0));
  if (count < 0) return must_wait() ? Step::kWait : Step::kBroken;
  if (count == 0) {
    // Cut within a hello, or a request: nothing to pass on.
    if (hello_.size() > passed_) return Step::kBroken;
    flow.at_end = true;
    return Step::kMore;
  }
  if (is_plain_) return hear_request();
  const HelloReader::State state = reader_->feed(std::string_view(hello_).substr(had));
  if (state == HelloReader::State::kNotTls && judge_host_) {
    is_plain_ = true;
    return hear_request();
  }
  if (state == HelloReader::State::kBad) judge_(false, {});
  if (state == HelloReader::State::kBad || state == HelloReader::State::kRefused) {
    return Step::kBroken;
  }
  const std::size_t held = reader_->held();
  flow.unsent = hello_.substr(0, hello_.size() - held);
  flow.sent = 0;
  hello_.erase(0, hello_.size() - held);
  if (state != HelloReader::State::kReading) reader_.reset();
  return Step::kMore;
}

// What is too short for a request goes on, since another protocol may wait for the answer to it.
Relay::Step Relay::hear_request() {
  Flow& flow = flows_[kClient];
  const PlainHttp heard = read_plain_http(hello_);
  if (heard.state == PlainHttp::State::kReading) {
    return hello_.size() < kMaxClientHello ? Step::kMore : Step::kBroken;
  }
  for (const std::string& host : heard.hosts) {
    if (!judge_host_(host)) return Step::kBroken;
  }
  // What is taken for no HTTP may be a request to a server that reads more loosely still.
  if (heard.state != PlainHttp::State::kBeginning && is_sought_) {
    scan_.emplace(std::move(is_sought_));
    if (!hear_more(hello_)) return Step::kBroken;
  }
  flow.unsent = hello_.substr(passed_);
  flow.sent = 0;
  passed_ = hello_.size();
  if (heard.state == PlainHttp::State::kBeginning) return Step::kMore;
  hello_.clear();
  reader_.reset();
  return Step::kMore;
}

bool Relay::hear_more(std::string_view bytes) {
  const std::string host = scan_->feed(bytes);
  if (scan_->is_over()) scan_.reset();
  return host.empty() || judge_host_(host);
}

// Passes on what was kept. False when the other side is broken.
bool Relay::flush(int from) {
  Flow& flow = flows_[from];
  const int to = sides_[1 - from].socket.get();
  while (flow.sent < flow.unsent.size()) {
    const ssize_t count =
        send(to, flow.unsent.data() + flow.sent, flow.unsent.size() - flow.sent, MSG_NOSIGNAL);
    if (count < 0) return must_wait();
    flow.sent += static_cast<std::size_t>(count);
    this->count(from, static_cast<std::size_t>(count));
  }
  std::string().swap(flow.unsent);
  flow.sent = 0;
  while (flow.piped > 0) {
    const ssize_t count = splice(flow.pipe->read_end.get(), nullptr, to, nullptr, flow.piped,
                                 SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (count < 0) return must_wait();
    if (count == 0) return false;
    flow.piped -= static_cast<std::size_t>(count);
    this->count(from, static_cast<std::size_t>(count));
  }
  if (flow.pipe && !flow.is_bulk) release_pipe(flow);
  return true;
}

void Relay::count(int from, std::size_t bytes) {
  (from == kClient ? counts_->bytes_out : counts_->bytes_in) += bytes;
}

// A pipe that still holds bytes of this connection must not carry another's.
void Relay::release_pipe(Flow& flow) {
  if (!flow.pipe) return;
  if (flow.piped == 0) {
    pool_.give_back(std::move(*flow.pipe));
  } else {
    pool_.drop();
  }
  flow.pipe.reset();
  flow.piped = 0;
}

void Relay::finish(bool reset) {
  if (ended_) return;
  ended_ = true;
  for (Side& side : sides_) {
    side.watch.stop();
    if (reset) {
      reset_socket(std::move(side.socket));
    } else {
      side.socket.reset();
    }
  }
  end_();
}

}  // namespace sbx
