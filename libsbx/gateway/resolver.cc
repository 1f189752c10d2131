// SPDX-License-Identifier: Apache-2.0
// Resolver: A and AAAA are asked side by side; a name without a dot is tried with the host's search
// domains too, as libc would. Those who wait for one name share its questions.
#include "gateway/resolver.h"

#include <algorithm>
#include <utility>

#include "gateway/dns_lookup.h"

namespace sbx {
namespace {

constexpr std::uint32_t kMaxTtl = 300;
constexpr std::uint32_t kMaxNegativeTtl = 10;
constexpr std::uint32_t kFailureTtl = 1;
constexpr std::size_t kMaxWaiters = 256;

// IPv6 first, then by turns (RFC 8305): one broken family costs one try.
std::vector<IpAddress> by_turns(const std::vector<IpAddress>& all) {
  std::vector<IpAddress> v6, v4, result;
  for (const IpAddress& address : all) (address.is_v6 ? v6 : v4).push_back(address);
  for (std::size_t i = 0; i < std::max(v6.size(), v4.size()); ++i) {
    if (i < v6.size()) result.push_back(v6[i]);
    if (i < v4.size()) result.push_back(v4[i]);
  }
  return result;
}

}  // namespace

// All that is under way for one name.
class Resolver::Question {
 public:
  Question(Resolver& owner, std::string name) : owner_(owner), name_(std::move(name)) {
    candidates_.push_back(name_);
    if (name_.find('.') != std::string::npos) return;
    for (const std::string& suffix : owner_.conf_.search) {
      candidates_.push_back(name_ + "." + suffix);
    }
  }

  bool wait(OnDone done) {
    if (waiters_.size() >= kMaxWaiters) return false;
    waiters_.push_back(std::move(done));
    return true;
  }

  void ask() {
    const std::string candidate = candidates_[next_candidate_++];
    pending_ = 2;
    found_ = {};
    ttl_s_ = kMaxTtl;
    v4_ = lookup(candidate, DnsType::kA);
    v6_ = lookup(candidate, DnsType::kAaaa);
    // Starting may finish at once, and finishing may replace these.
    const auto v4 = v4_;
    const auto v6 = v6_;
    v4->start();
    v6->start();
  }

  std::vector<OnDone> take_waiters() { return std::exchange(waiters_, {}); }

 private:
  std::shared_ptr<DnsLookup> lookup(const std::string& name, DnsType type) {
    std::vector<Endpoint> servers;
    for (const IpAddress& address : owner_.conf_.servers) {
      servers.push_back({address, owner_.port_});
    }
    return std::make_shared<DnsLookup>(
        owner_.loop_, std::move(servers), name, type,
        [this](const std::optional<DnsReply>& reply) { on_reply(reply); });
  }

  void on_reply(const std::optional<DnsReply>& reply) {
    if (!reply) {
      failed_ = true;
    } else {
      ttl_s_ = std::min(ttl_s_, reply->ttl_s);
      exists_ = exists_ || reply->code == DnsCode::kOk;
      found_.addresses.insert(found_.addresses.end(), reply->addresses.begin(),
                              reply->addresses.end());
    }
    if (--pending_ > 0) return;
    owner_.loop_.bury(std::move(v4_));
    owner_.loop_.bury(std::move(v6_));
    if (found_.addresses.empty() && next_candidate_ < candidates_.size()) {
      ask();
      return;
    }
    conclude();
  }

  void conclude() {
    using Kind = Resolution::Kind;
    if (!found_.addresses.empty()) {
      found_.kind = Kind::kFound;
      found_.addresses = by_turns(found_.addresses);
    } else if (failed_) {
      found_.kind = Kind::kFailed;
      ttl_s_ = kFailureTtl;
    } else {
      found_.kind = exists_ ? Kind::kNoAddress : Kind::kNoSuchName;
      ttl_s_ = std::min(ttl_s_, kMaxNegativeTtl);
    }
    owner_.finish(name_, found_, ttl_s_);
  }

  Resolver& owner_;
  std::string name_;
  std::vector<std::string> candidates_;
  std::size_t next_candidate_ = 0;
  std::vector<OnDone> waiters_;
  std::shared_ptr<DnsLookup> v4_;
  std::shared_ptr<DnsLookup> v6_;
  int pending_ = 0;
  bool failed_ = false;
  bool exists_ = false;
  Resolution found_;
  std::uint32_t ttl_s_ = kMaxTtl;
};

Resolver::Resolver(Loop& loop, ResolvConf conf, HostsFile hosts, std::uint16_t port)
    : loop_(loop), conf_(std::move(conf)), hosts_(std::move(hosts)), port_(port) {}

Resolver::~Resolver() = default;

std::optional<Resolution> Resolver::known(const std::string& name) const {
  if (const auto listed = hosts_.find(name); listed != hosts_.end()) {
    return Resolution{Resolution::Kind::kFound, by_turns(listed->second)};
  }
  const auto cached = cache_.find(name);
  if (cached == cache_.end() || cached->second.until <= Loop::Clock::now()) return std::nullopt;
  return cached->second.resolution;
}

void Resolver::resolve(const std::string& name, OnDone done) {
  if (const auto answer = known(name)) return done(*answer);
  if (const auto found = under_way_.find(name); found != under_way_.end()) {
    if (!found->second->wait(done)) done({});
    return;
  }
  if (under_way_.size() >= kMaxUnderWay) {
    done({});
    return;
  }
  const auto question = std::make_shared<Question>(*this, name);
  question->wait(std::move(done));
  under_way_.emplace(name, question);
  question->ask();
}

void Resolver::finish(const std::string& name, const Resolution& resolution, std::uint32_t ttl_s) {
  keep(name, resolution, ttl_s);
  const auto found = under_way_.find(name);
  const auto question = found->second;
  under_way_.erase(found);
  loop_.bury(question);
  for (const OnDone& done : question->take_waiters()) done(resolution);
}

void Resolver::keep(const std::string& name, const Resolution& resolution, std::uint32_t ttl_s) {
  if (cache_.size() >= kMaxCached) {
    const auto now = Loop::Clock::now();
    std::erase_if(cache_, [&](const auto& entry) { return entry.second.until <= now; });
    if (cache_.size() >= kMaxCached) cache_.erase(cache_.begin());
  }
  cache_[name] = {resolution, Loop::Clock::now() + std::chrono::seconds(ttl_s)};
}

}  // namespace sbx
