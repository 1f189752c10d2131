// SPDX-License-Identifier: Apache-2.0
// Resolver: names → addresses, by /etc/hosts, a cache, then the host's name servers, without
// blocking. A fresh socket, port and id for each question; only the answer to it is believed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/loop.h"
#include "gateway/address.h"
#include "gateway/dns_message.h"
#include "gateway/resolv_conf.h"

namespace sbx {

struct Resolution {
  enum class Kind : std::uint8_t {
    kFound,
    kNoAddress,  // the name exists and has none
    kNoSuchName,
    kFailed,  // no server gave an answer
  };
  Kind kind = Kind::kFailed;
  std::vector<IpAddress> addresses;  // IPv6 and IPv4 by turns; empty unless found
};

class Resolver {
 public:
  using OnDone = std::function<void(const Resolution&)>;

  Resolver(Loop& loop, ResolvConf conf, HostsFile hosts, std::uint16_t port);
  ~Resolver();

  // `name` in lower case. Calls back once, within this call where the answer is known already.
  // Beyond a bound on questions under way it fails at once.
  void resolve(const std::string& name, OnDone done);

  // What is answered without asking a server.
  std::optional<Resolution> known(const std::string& name) const;

  std::size_t cached() const { return cache_.size(); }

  static constexpr std::size_t kMaxCached = 1024;
  static constexpr std::size_t kMaxUnderWay = 256;

 private:
  struct Cached {
    Resolution resolution;
    Loop::Clock::time_point until;
  };
  class Question;

  void finish(const std::string& name, const Resolution& resolution, std::uint32_t ttl_s);
  void keep(const std::string& name, const Resolution& resolution, std::uint32_t ttl_s);

  Loop& loop_;
  ResolvConf conf_;
  HostsFile hosts_;
  std::uint16_t port_;
  std::unordered_map<std::string, Cached> cache_;
  std::unordered_map<std::string, std::shared_ptr<Question>> under_way_;
};

}  // namespace sbx
