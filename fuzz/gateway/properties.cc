// SPDX-License-Identifier: Apache-2.0
// Properties of the gateway's parsers.
#include "properties.h"

#include <cstdlib>
#include <string>

#include "gateway/client_hello.h"
#include "gateway/dns_message.h"
#include "gateway/resolv_conf.h"

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

void check_client_hello(std::string_view bytes) {
  using Kind = ClientHello::Kind;
  const ClientHello whole = read_client_hello(bytes);
  require(whole.kind == Kind::kHello || whole.server_name.empty());
  require(bytes.size() < kMaxClientHello || whole.kind != Kind::kNeedMore);
  // A shorter beginning may not know yet; it must not know otherwise.
  const ClientHello half = read_client_hello(bytes.substr(0, bytes.size() / 2));
  require(half.kind == Kind::kNeedMore || half.kind == whole.kind);
}

void check_resolv_conf(std::string_view bytes) {
  const ResolvConf conf = parse_resolv_conf(bytes);
  require(!conf.servers.empty() && conf.servers.size() <= 3 && conf.search.size() <= 6);
  for (const std::string& name : conf.search) require(is_host_name(name));
  for (const auto& [name, addresses] : parse_hosts(bytes)) {
    require(is_host_name(name) && addresses.size() <= 16);
  }
}

}  // namespace sbx
