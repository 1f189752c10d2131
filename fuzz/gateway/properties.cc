// SPDX-License-Identifier: Apache-2.0
// Properties of the gateway's parsers.
#include "properties.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/text.h"
#include "gateway/client_hello.h"
#include "gateway/dns_message.h"
#include "gateway/plain_http.h"
#include "gateway/resolv_conf.h"
#include "profile/upstream.h"

namespace sbx {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

void check_dns(std::string_view bytes) {
  if (const auto read = read_dns_query(bytes)) {
    const DnsQuery& query = read->query;
    require(query.name.empty() ||
            (is_host_name(query.name) && lower_case(query.name) == query.name));
    require(query.question.size() <= bytes.size());
    require(query.udp_size >= 512);
    // What is answered is a reply to that question and to no other.
    const std::string reply = write_dns_reply(query, DnsCode::kNoSuchName, {}, 30, 65535);
    if (read->code == DnsCode::kOk && !query.name.empty()) {
      const auto type = static_cast<DnsType>(query.type);
      require(read_dns_reply(reply, query.id, query.name, type).has_value());
      require(!read_dns_reply(reply, query.id, "x" + query.name, type));
    }
  }
  if (bytes.size() < 2) return;
  const auto id = static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[0]) << 8 |
                                             static_cast<unsigned char>(bytes[1]));
  for (const DnsType type : {DnsType::kA, DnsType::kAaaa}) {
    const auto reply = read_dns_reply(bytes, id, "a.test", type);
    if (reply) require(reply->addresses.size() <= 64);
  }
}

namespace {

struct Heard {
  HelloReader::State state = HelloReader::State::kReading;
  std::vector<std::string> names;
  std::string passed;  // on to the server
};

// In pieces of `step` bytes, as a relay does it.
Heard hear(std::string_view bytes, std::size_t step) {
  Heard heard;
  HelloReader reader([&](const std::string& name) {
    heard.names.push_back(name);
    return name != "refused.test";
  });
  std::string held;
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    const std::string_view piece = bytes.substr(i, step);
    held += piece;
    heard.state = reader.feed(piece);
    if (heard.state == HelloReader::State::kBad || heard.state == HelloReader::State::kRefused) {
      return heard;
    }
    require(reader.held() <= held.size() && reader.held() < kMaxClientHello);
    heard.passed += held.substr(0, held.size() - reader.held());
    held.erase(0, held.size() - reader.held());
    if (heard.state == HelloReader::State::kReading) continue;
    require(held.empty());
    heard.passed += bytes.substr(i + piece.size());
    return heard;
  }
  return heard;
}

}  // namespace

void check_client_hello(std::string_view bytes) {
  using State = HelloReader::State;
  const Heard whole = hear(bytes, std::max<std::size_t>(bytes.size(), 1));
  require(bytes.starts_with(whole.passed));
  require(whole.state != State::kNotTls || whole.names.empty());
  // However it is cut, it is heard in the same way, and what was refused never went on.
  for (const std::size_t step : {1U, 7U}) {
    const Heard cut = hear(bytes, step);
    require(cut.state == whole.state && cut.names == whole.names);
    if (whole.state == State::kReading) require(cut.passed == whole.passed);
    if (cut.names.size() == 1 && cut.state == State::kRefused) require(cut.passed.empty());
  }
}

void check_resolv_conf(std::string_view bytes) {
  const ResolvConf conf = parse_resolv_conf(bytes);
  require(!conf.servers.empty() && conf.servers.size() <= 3 && conf.search.size() <= 6);
  for (const std::string& name : conf.search) require(is_host_name(name));
  for (const auto& [name, addresses] : parse_hosts(bytes)) {
    require(is_host_name(name) && addresses.size() <= 16);
  }
}

// What is said of a beginning does not change once it is known; what later requests name is the
// same however it comes.
void check_plain_http(std::string_view bytes) {
  const auto is_sought = [](const std::string& host) { return host.size() > 2; };
  RequestScan whole(is_sought);
  RequestScan slow(is_sought);
  const std::string found = whole.feed(bytes);
  for (const char& c : bytes) slow.feed({&c, 1});
  if (bytes.size() < std::size_t{16} << 10 && slow.feed({}) != found) std::abort();
  PlainHttp before = read_plain_http({});
  for (std::size_t size = 1; size <= std::min<std::size_t>(bytes.size(), 256); ++size) {
    const PlainHttp now = read_plain_http(bytes.substr(0, size));
    const bool was_known =
        before.state == PlainHttp::State::kOther || before.state == PlainHttp::State::kHead;
    if (was_known && (now.state != before.state || now.hosts != before.hosts)) std::abort();
    before = now;
  }
}

// What is taken can be put into a request line and a header as it is; what is refused is not
// repeated; and without its user nothing is left of that.
void check_upstream(std::string_view bytes) {
  const std::string plain = without_users(bytes, Urls::kOfProxy);
  require(without_users(plain, Urls::kOfProxy) == plain || plain.find('@') != std::string::npos);
  const Result<Upstream> read = parse_upstream(bytes, "x");
  if (!read.ok()) {
    // Nothing of it is told, but for what every refusal says.
    const std::string said = parse_upstream("", "x").error().message;
    require(bytes.size() < 8 || said.find(bytes) != std::string::npos ||
            read.error().message.find(bytes) == std::string::npos);
    return;
  }
  const Upstream& upstream = read.value();
  require(upstream.port != 0 && upstream.host.kind != HostRule::Kind::kWildcard);
  require(upstream.host.kind == HostRule::Kind::kNetwork || is_host_name(upstream.host.name));
  for (const char c : upstream.authorization) require(c > ' ' && c < 0x7f);
  require(parse_upstream(plain, "x").ok() &&
          parse_upstream(plain, "x").value().authorization.empty());
}

}  // namespace sbx
