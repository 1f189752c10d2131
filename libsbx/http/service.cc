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
#include "launch/descriptors.h"

namespace sbx::http {
namespace {

constexpr std::size_t kMostMessage = 4096;
constexpr std::size_t kMostUnsent = 65536;
constexpr std::size_t kMostWord = 8192;
constexpr std::size_t kMostConnections = 4096;
constexpr auto kAskLimit = std::chrono::seconds(60);

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

void Service::add_policy(Started started) {
  realms_.push_back(std::make_unique<Realm>(*this, realms_.size(), std::move(started)));
}

Status Service::open() {
  SBX_CHECK_OK(loop_.open());
  fcntl(control_.get(), F_SETFL, O_NONBLOCK);
  watch_ = loop_.watch(control_.get(), EPOLLIN, [this](std::uint32_t) { on_control(); });
  if (watch_.is_on()) return {};
  return call_failed(ErrorCode::kSetupFailed, "epoll_ctl", "epoll_ctl");
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
  if (words[0] == "N") add_policy(owned[0], std::move(owned[1]));
  if (words[0] == "C" && words.size() == 5) {
    add(words, std::move(owned[0]), std::move(owned[1]));
  }
  if (words[0] == "F" && words.size() == 2) {
    const auto found = connections_.find(static_cast<std::uint32_t>(number_of(words[1])));
    if (found != connections_.end()) found->second->finish();
  }
  if (words[0] == "W" && words.size() == 2) {
    const auto found = connections_.find(static_cast<std::uint32_t>(number_of(words[1])));
    if (found != connections_.end()) found->second->refuse_more();
  }
  if (words[0] == "Q" && words.size() == 3) answer(number_of(words[1]), words[2] == "1");
  if (words[0] == "V" && words.size() == 4 && count == 1) {
    const std::size_t number = number_of(words[1]);
    if (number < realms_.size()) {
      realms_[number]->take_renewal(number_of(words[2]), words[3] == "1", std::move(owned[0]));
    }
  }
  return true;
}

// One that cannot be had is the end: the supervisor counts on it.
void Service::add_policy(const OwnedFd& rules, OwnedFd state) {
  Result<Started> started = resume(rules, std::move(state), realms_.front()->authority().store());
  if (!started.ok()) _exit(1);
  add_policy(std::move(started).value());
}

void Service::add(const Words& words, OwnedFd client, OwnedFd server) {
  const auto id = static_cast<std::uint32_t>(number_of(words[1]));
  const std::size_t realm = number_of(words[2]);
  // The sockets are not there where the limit on open files is reached.
  if (!client.is_open() || !server.is_open() || connections_.size() >= kMostConnections ||
      realm >= realms_.size()) {
    return say({"Z", words[1], "0", "0"});
  }
  say({"T", words[1]});
  Peer peer{id, words[3], static_cast<int>(number_of(words[4])), false};
  const auto connection = std::make_shared<Connection>(
      *realms_[realm], std::move(peer), std::move(client), std::move(server),
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

// --- the operator ---

std::uint64_t Service::ask(std::uint32_t connection, const Judged& judged, const std::string& size,
                           Context::Answer answer) {
  const std::uint64_t id = next_question_++;
  Question& question = questions_[id];
  question.answer = std::move(answer);
  question.limit = loop_.after(kAskLimit, [this, id] {
    say({"B", std::to_string(id)});
    this->answer(id, false);
  });
  say({"A", std::to_string(connection), std::to_string(id), judged.exchange.method, judged.url,
       size, judged.exchange.rule});
  return id;
}

void Service::withdraw(std::uint64_t question) {
  if (questions_.erase(question) > 0) say({"B", std::to_string(question)});
}

void Service::answer(std::uint64_t question, bool is_allowed) {
  const auto found = questions_.find(question);
  if (found == questions_.end()) return;
  const Context::Answer answer = std::move(found->second.answer);
  questions_.erase(found);
  answer(is_allowed);
}

}  // namespace sbx::http
