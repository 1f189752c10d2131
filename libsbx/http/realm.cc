// SPDX-License-Identifier: Apache-2.0
// What happens is told through the service; values are renewed here.
#include "http/realm.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "http/service.h"
#include "http/sources.h"

namespace sbx::http {
namespace {

constexpr auto kRenewLimit = std::chrono::seconds(10);

}  // namespace

Realm::Realm(Service& service, std::size_t number, Started started)
    : service_(service),
      number_(number),
      rules_(started.network.http),
      credentials_(std::move(started.secrets)),
      authority_(std::move(started.authority)),
      state_(std::move(started.state)),
      renewals_(credentials_.bound().size()) {
  for (Renewal& renewal : renewals_) renewal.read_at = Clock::now();
}

Loop& Realm::loop() { return service_.loop(); }

void Realm::tell_exchange(const Peer& peer, std::size_t number, const HttpExchange& exchange) {
  service_.say({"X", std::to_string(peer.id), std::to_string(number),
                std::to_string(exchange.time_ms), exchange.method, exchange.host, exchange.path,
                std::to_string(exchange.status), std::to_string(exchange.bytes_sent),
                std::to_string(exchange.bytes_received), exchange.rule});
}

void Realm::tell_denial(const Peer& peer, const std::string& operation, const std::string& target,
                        const std::string& grant) {
  service_.say({"D", std::to_string(peer.id), operation, target, grant});
}

std::uint64_t Realm::ask(const Peer& peer, const Judged& judged, const std::string& size,
                         Answer answer) {
  return service_.ask(peer.id, judged, size, std::move(answer));
}

void Realm::withdraw(std::uint64_t question) { service_.withdraw(question); }

// --- values that grow old ---

void Realm::renew_values(const Peer& peer, std::function<void()> then) {
  for (std::size_t i = 0; i < renewals_.size(); ++i) {
    const BoundSecret& secret = credentials_.bound()[i];
    const auto& ttl = secret.text.from.ttl_s;
    if (!ttl || !covers_host(secret.text.host, peer.name, peer.port)) continue;
    Renewal& renewal = renewals_[i];
    if (Clock::now() < renewal.read_at + std::chrono::seconds(*ttl)) continue;
    // One after the other: the next one is looked for when this one is there.
    renewal.waiting.emplace_back(
        peer, [this, peer, then = std::move(then)] { renew_values(peer, then); });
    if (std::exchange(renewal.is_asked, true)) return;
    service_.say({"V", std::to_string(number_), std::to_string(i)});
    renewal.limit =
        loop().after(kRenewLimit, [this, i] { end_renewal(i, "it has not ended within 10 s"); });
    return;
  }
  then();
}

void Realm::take_renewal(std::size_t index, bool is_good, OwnedFd pipe) {
  if (index >= renewals_.size()) return;
  if (!is_good) return end_renewal(index, "the command has failed");
  Renewal& renewal = renewals_[index];
  renewal.pipe = std::move(pipe);
  renewal.text.clear();
  renewal.watch = loop().watch(renewal.pipe.get(), EPOLLIN,
                               [this, index](std::uint32_t) { read_renewal(index); });
}

void Realm::read_renewal(std::size_t index) {
  Renewal& renewal = renewals_[index];
  std::array<char, 4096> piece{};
  const ssize_t got = read(renewal.pipe.get(), piece.data(), piece.size());
  if (got > 0 && renewal.text.size() < (std::size_t{64} << 10)) {
    renewal.text.append(piece.data(), static_cast<std::size_t>(got));
    return;
  }
  Result<std::string> secret = check_secret(std::move(renewal.text), "the command", "");
  const std::string failure = secret.ok() ? "" : secret.error().message;
  if (secret.ok()) {
    credentials_.renew(index, std::move(secret).value());
    // Where that fails, the next process has the value that was before.
    static_cast<void>(write_state(state_, *authority_, credentials_.bound()));
  }
  end_renewal(index, failure);
}

// What could not be renewed stays as it is: the origin decides whether it is still good.
void Realm::end_renewal(std::size_t index, const std::string& failure) {
  Renewal& renewal = renewals_[index];
  renewal.watch.stop();
  renewal.pipe.reset();
  renewal.limit.stop();
  renewal.text.clear();
  renewal.is_asked = false;
  renewal.read_at = Clock::now();
  const auto waiting = std::exchange(renewal.waiting, {});
  if (!failure.empty() && !waiting.empty()) {
    const Peer& peer = waiting.front().first;
    tell_denial(peer, "upstream",
                peer.authority() + " (the value of " + credentials_.bound()[index].text.name +
                    " is an old one: " + failure + ")",
                "");
  }
  for (const auto& [peer, then] : waiting) then();
}

}  // namespace sbx::http
