// SPDX-License-Identifier: Apache-2.0
// DNS messages (RFC 1035, RFC 6891): bytes ↔ the few things that the gateway asks and answers.
// Strict and bounded: one question, host names only, compression pointers that go backwards.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/address.h"

namespace sbx {

enum class DnsType : std::uint16_t { kA = 1, kCname = 5, kSoa = 6, kAaaa = 28, kOpt = 41 };

enum class DnsCode : std::uint8_t {
  kOk = 0,
  kFormatError = 1,
  kServerFailure = 2,
  kNoSuchName = 3,
  kNotImplemented = 4,
  kRefused = 5,
};

struct DnsQuery {
  std::uint16_t id = 0;
  bool recursion_desired = false;
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  std::string name;      // lower case, no trailing dot; empty unless it is a host name
  std::string question;  // its bytes, to be repeated in the answer letter for letter
  bool has_edns = false;
  std::uint16_t udp_size = 512;  // what the client can take, within reason
};

// What a datagram to the server is. `code` other than kOk: to be answered with it. nullopt: not a
// query at all (a response, too short): not to be answered.
struct ReadQuery {
  DnsCode code = DnsCode::kOk;
  DnsQuery query;
};
std::optional<ReadQuery> read_dns_query(std::string_view message);

// Answers of the query's own type, all with `ttl_s`. An answer that would not fit into `max_size`
// is cut to none and marked truncated.
std::string write_dns_reply(const DnsQuery& query, DnsCode code,
                            const std::vector<IpAddress>& addresses, std::uint32_t ttl_s,
                            std::size_t max_size);

// A query for a name of at most 253 letters; empty when the name is no host name.
std::string write_dns_query(std::uint16_t id, std::string_view name, DnsType type);

struct DnsReply {
  DnsCode code = DnsCode::kOk;
  bool truncated = false;
  std::vector<IpAddress> addresses;  // at most 64, along the chain of aliases
  std::uint32_t ttl_s = 0;           // the least along the way; of the SOA where there are none
};

// nullopt unless the message answers exactly this question under this id.
std::optional<DnsReply> read_dns_reply(std::string_view message, std::uint16_t id,
                                       std::string_view name, DnsType type);

// Letters, digits, '-' and '_' in labels of 1 to 63, 253 in all, no trailing dot.
bool is_host_name(std::string_view name);

}  // namespace sbx
