// SPDX-License-Identifier: Apache-2.0
// One loop over the control socket and all connections.
#include "http/service.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "http/sources.h"
#include "launch/descriptors.h"

namespace sbx::http {
namespace {

constexpr std::size_t kMostMessage = 4096;
constexpr std::size_t kMostUnsent = 65536;
constexpr std::size_t kMostWord = 8192;
constexpr std::size_t kMostConnections = 4096;
constexpr auto kAskLimit = std::chrono::seconds(60);
constexpr auto kRenewLimit = std::chrono::seconds(10);

std::uint64_t number_of(std::string_view word) {
  return static_cast<std::uint64_t>(parse_count(word, INT64_MAX).value_or(0));
}

}  // namespace

bool send_words(int socket, const Words& words, int fd) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += '\0';
    text += words[i];
  }
  FdMessage<1> message(text.data(), text.size());
  return message.send(socket, &fd, fd < 0 ? 0 : 1) >= 0;
}

Service::Service(const NetworkProfile& network, Credentials credentials,
                 std::unique_ptr<Authority> authority, OwnedFd control)
    : rules_(network.http),
      credentials_(std::move(credentials)),
      authority_(std::move(authority)),
      control_(std::move(control)),
      renewals_(credentials_.bound().size()) {
  for (Renewal& renewal : renewals_) renewal.read_at = Clock::now();
}

Status Service::open() {
  SBX_CHECK_OK(loop_.open());
  fcntl(control_.get(), F_SETFL, O_NONBLOCK);
  watch_ = loop_.watch(control_.get(), EPOLLIN, [this](std::uint32_t) { on_control(); });
  if (watch_.is_on()) return {};
  return Error{ErrorCode::kSetupFailed, "epoll_ctl: " + errno_text(errno), "epoll_ctl", "", errno};
}

void Service::run() {
  while (!is_over_ && loop_.step(-1) == 0) flush();
}

void Service::on_control() {
  while (!is_over_ && take_message()) {
  }
}

bool Service::take_message() {
  std::string text(kMostMessage, '\0');
  FdMessage<3> message(text.data(), text.size());
  const ssize_t size = message.receive(control_.get());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size <= 0) {
    is_over_ = true;
    return false;
  }
  int fds[3];
  const std::size_t count = message.take(fds);
  std::array<OwnedFd, 3> owned;
  for (std::size_t i = 0; i < count; ++i) owned[i].reset(fds[i]);
  text.resize(static_cast<std::size_t>(size));
  Words words;
  for (const std::string_view word : split(text, '\0')) words.emplace_back(word);
  if (words[0] == "P") say({"O", "0"});
  if (words[0] == "C" && words.size() == 4 && count == 2) {
    add(words, std::move(owned[0]), std::move(owned[1]));
  }
  if (words[0] == "Q" && words.size() == 3) answer(number_of(words[1]), words[2] == "1");
  if (words[0] == "V" && words.size() == 2 && count == 1) {
    const std::size_t index = number_of(words[1]);
    if (index >= renewals_.size()) return true;
    Renewal& renewal = renewals_[index];
    renewal.pipe = std::move(owned[0]);
    renewal.text.clear();
    renewal.watch = loop_.watch(renewal.pipe.get(), EPOLLIN,
                                [this, index](std::uint32_t) { read_renewal(index); });
  }
  return true;
}

void Service::add(const Words& words, OwnedFd client, OwnedFd server) {
  const auto id = static_cast<std::uint32_t>(number_of(words[1]));
  say({"T", words[1]});
  if (connections_.size() >= kMostConnections) return say({"Z", words[1], "0", "0"});
  Peer peer{id, words[2], static_cast<int>(number_of(words[3])), false};
  const auto connection = std::make_shared<Connection>(
      *this, std::move(peer), std::move(client), std::move(server),
      [this, id](std::uint64_t out, std::uint64_t in) {
        say({"Z", std::to_string(id), std::to_string(out), std::to_string(in)});
        const auto found = connections_.find(id);
        if (found == connections_.end()) return;
        loop_.bury(std::move(found->second));
        connections_.erase(found);
      });
  connections_[id] = connection;
  connection->start();
}

// In order, and at once where that can be: a report is there before the bytes that it is about.
void Service::say(Words words) {
  for (std::string& word : words) {
    if (word.size() > kMostWord) word.resize(kMostWord);
    std::replace(word.begin(), word.end(), '\0', ' ');
  }
  flush();
  if (unsent_.empty() && send_words(control_.get(), words)) return;
  if (unsent_.size() >= kMostUnsent) _exit(1);  // nobody listens
  unsent_.push_back(std::move(words));
}

void Service::flush() {
  while (!unsent_.empty() && send_words(control_.get(), unsent_.front())) unsent_.pop_front();
  watch_.want(unsent_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void Service::tell_exchange(const Peer& peer, std::size_t number, const HttpExchange& exchange) {
  say({"X", std::to_string(peer.id), std::to_string(number), std::to_string(exchange.time_ms),
       exchange.method, exchange.host, exchange.path, std::to_string(exchange.status),
       std::to_string(exchange.bytes_sent), std::to_string(exchange.bytes_received),
       exchange.rule});
}

void Service::tell_denial(const Peer& peer, const std::string& operation, const std::string& target,
                          const std::string& grant) {
  say({"D", std::to_string(peer.id), operation, target, grant});
}

// --- the operator ---

void Service::ask(const Peer& /*peer*/, const Judged& judged, const std::string& size,
                  Answer answer) {
  const std::uint64_t id = next_question_++;
  Question& question = questions_[id];
  question.answer = std::move(answer);
  question.limit = loop_.after(kAskLimit, [this, id] { this->answer(id, false); });
  say({"A", std::to_string(id), judged.exchange.method, judged.url, size, judged.exchange.rule});
}

void Service::answer(std::uint64_t question, bool is_allowed) {
  const auto found = questions_.find(question);
  if (found == questions_.end()) return;
  const Answer answer = std::move(found->second.answer);
  questions_.erase(found);
  answer(is_allowed);
}

// --- values that grow old ---

void Service::renew_values(const Peer& peer, std::function<void()> then) {
  for (std::size_t i = 0; i < renewals_.size(); ++i) {
    const BoundSecret& secret = credentials_.bound()[i];
    const auto& ttl = secret.text.from.ttl_s;
    if (!ttl || !covers_host(secret.host, peer.name, peer.port)) continue;
    Renewal& renewal = renewals_[i];
    if (Clock::now() < renewal.read_at + std::chrono::seconds(*ttl)) continue;
    // One after the other: the next one is looked for when this one is there.
    renewal.waiting.push_back([this, peer, then = std::move(then)] { renew_values(peer, then); });
    if (std::exchange(renewal.is_asked, true)) return;
    say({"V", std::to_string(i)});
    renewal.limit = loop_.after(kRenewLimit, [this, i] { end_renewal(i); });
    return;
  }
  then();
}

void Service::read_renewal(std::size_t index) {
  Renewal& renewal = renewals_[index];
  std::array<char, 4096> piece{};
  const ssize_t got = read(renewal.pipe.get(), piece.data(), piece.size());
  if (got > 0 && renewal.text.size() < (std::size_t{64} << 10)) {
    renewal.text.append(piece.data(), static_cast<std::size_t>(got));
    return;
  }
  Result<std::string> secret = check_secret(std::move(renewal.text), "the command", "");
  if (secret.ok()) credentials_.renew(index, std::move(secret).value());
  end_renewal(index);
}

// What could not be renewed stays as it is: the origin decides whether it is still good.
void Service::end_renewal(std::size_t index) {
  Renewal& renewal = renewals_[index];
  renewal.watch.stop();
  renewal.pipe.reset();
  renewal.limit.stop();
  renewal.text.clear();
  renewal.is_asked = false;
  renewal.read_at = Clock::now();
  for (const auto& then : std::exchange(renewal.waiting, {})) then();
}

}  // namespace sbx::http
