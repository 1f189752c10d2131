// SPDX-License-Identifier: Apache-2.0
// DNS messages: a cursor that checks every step, then queries and replies on top of it.
#include "gateway/dns_message.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr std::size_t kHeaderSize = 12;
constexpr std::uint16_t kClassIn = 1;
constexpr std::uint16_t kOurUdpSize = 1232;  // fits every path unfragmented (DNS flag day 2020)
constexpr std::size_t kMaxRecords = 256;
constexpr std::size_t kMaxAddresses = 64;
constexpr std::size_t kMaxAliases = 16;
constexpr std::uint32_t kDefaultNegativeTtl = 5;

constexpr std::uint16_t kFlagResponse = 0x8000;
constexpr std::uint16_t kFlagTruncated = 0x0200;
constexpr std::uint16_t kFlagRecursionDesired = 0x0100;
constexpr std::uint16_t kFlagRecursionAvailable = 0x0080;

bool is_label_byte(char c) { return is_alphanumeric(c) || c == '-' || c == '_'; }

void put16(std::string& out, unsigned value) {
  out += static_cast<char>(value >> 8 & 0xFF);
  out += static_cast<char>(value & 0xFF);
}
void put32(std::string& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xFFFF);
}

// The OPT record of EDNS (RFC 6891): how large a datagram may be, and nothing else.
void put_opt(std::string& out) {
  out += '\0';
  put16(out, static_cast<unsigned>(DnsType::kOpt));
  put16(out, kOurUdpSize);
  put32(out, 0);
  put16(out, 0);
}

// Reads forward; the first step beyond the end makes it bad for good, and all values 0.
class Cursor {
 public:
  explicit Cursor(std::string_view message) : message_(message) {}

  bool ok() const { return ok_; }
  std::size_t at() const { return at_; }
  void skip(std::size_t count) { take(count); }
  std::uint16_t u16() {
    const std::string_view bytes = take(2);
    if (bytes.size() != 2) return 0;
    return static_cast<std::uint16_t>(byte(bytes[0]) << 8 | byte(bytes[1]));
  }
  std::uint32_t u32() {
    const std::uint32_t high = u16();
    return high << 16 | u16();
  }
  std::string_view take(std::size_t count) {
    if (!ok_ || count > message_.size() - at_) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = message_.substr(at_, count);
    at_ += count;
    return bytes;
  }

  // A name in lower case with dots; nullopt when it is well-formed and no host name. Pointers must
  // lead backwards, so that the way ends.
  std::optional<std::string> name() {
    std::string text;
    bool host = true;
    std::size_t at = at_;
    std::size_t lowest = at_;
    std::optional<std::size_t> after;
    for (;;) {
      if (!ok_ || at >= message_.size()) return fail();
      const unsigned length = byte(message_[at]);
      if ((length & 0xC0U) == 0xC0U) {
        if (at + 1 >= message_.size()) return fail();
        const std::size_t target = (length & 0x3FU) << 8 | byte(message_[at + 1]);
        if (target >= lowest) return fail();
        if (!after) after = at + 2;
        at = lowest = target;
        continue;
      }
      if (length > 63 || message_.size() - at - 1 < length) return fail();
      const std::string_view label = message_.substr(at + 1, length);
      at += 1 + length;
      if (length == 0) break;
      if (!text.empty()) text += '.';
      host = host && std::all_of(label.begin(), label.end(), is_label_byte);
      text += label;
      if (text.size() > 253) return fail();
    }
    at_ = after.value_or(at);
    if (!host || text.empty()) return std::nullopt;
    return lower_case(text);
  }

 private:
  static unsigned byte(char c) { return static_cast<unsigned char>(c); }
  std::optional<std::string> fail() {
    ok_ = false;
    return std::nullopt;
  }

  std::string_view message_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

struct Header {
  std::uint16_t id, flags, questions, answers, authorities, additionals;
};

Header read_header(Cursor& in) {
  Header header{};
  header.id = in.u16();
  header.flags = in.u16();
  header.questions = in.u16();
  header.answers = in.u16();
  header.authorities = in.u16();
  header.additionals = in.u16();
  return header;
}

struct Record {
  std::optional<std::string> owner;
  std::uint16_t type = 0, klass = 0;
  std::uint32_t ttl = 0;
  std::size_t data_at = 0;
  std::string_view data;
};

Record read_record(Cursor& in) {
  Record record;
  record.owner = in.name();
  record.type = in.u16();
  record.klass = in.u16();
  record.ttl = in.u32();
  const std::size_t size = in.u16();
  record.data_at = in.at();
  record.data = in.take(size);
  return record;
}

// RFC 2181: a TTL with the top bit set is 0.
std::uint32_t sane_ttl(std::uint32_t ttl) { return ttl > 0x7FFFFFFFU ? 0 : ttl; }

// EDNS (RFC 6891): the OPT record's class is the size, its TTL the version.
void read_additionals(Cursor& in, std::size_t count, DnsQuery& query) {
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const Record record = read_record(in);
    if (!in.ok() || record.type != static_cast<std::uint16_t>(DnsType::kOpt)) continue;
    query.has_edns = true;
    query.udp_size = std::clamp<std::uint16_t>(record.klass, 512, kOurUdpSize);
  }
}

struct Aliases {
  std::map<std::string, std::string> next;
  std::map<std::string, std::uint32_t> ttl;
};

}  // namespace

bool is_host_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  const auto labels = split(name, '.');
  return std::all_of(labels.begin(), labels.end(), [](std::string_view label) {
    return !label.empty() && label.size() <= 63 &&
           std::all_of(label.begin(), label.end(), is_label_byte);
  });
}

std::optional<ReadQuery> read_dns_query(std::string_view message) {
  Cursor in(message);
  const Header header = read_header(in);
  if (!in.ok() || (header.flags & kFlagResponse) != 0) return std::nullopt;
  ReadQuery read;
  read.query.id = header.id;
  read.query.recursion_desired = (header.flags & kFlagRecursionDesired) != 0;
  if ((header.flags >> 11 & 0xFU) != 0) {
    read.code = DnsCode::kNotImplemented;
    return read;
  }
  const auto name = in.name();
  read.query.type = in.u16();
  read.query.klass = in.u16();
  const std::size_t end = in.at();
  if (header.questions != 1 || header.answers != 0 || header.authorities != 0 ||
      header.additionals > kMaxRecords || !in.ok()) {
    read.code = DnsCode::kFormatError;
    return read;
  }
  read.query.name = name.value_or("");
  read.query.question = message.substr(kHeaderSize, end - kHeaderSize);
  read_additionals(in, header.additionals, read.query);
  if (!in.ok()) read.code = DnsCode::kFormatError;
  if (read.query.klass != kClassIn) read.code = DnsCode::kRefused;
  return read;
}

std::string write_dns_reply(const DnsQuery& query, DnsCode code,
                            const std::vector<IpAddress>& addresses, std::uint32_t ttl_s,
                            std::size_t max_size) {
  const auto write = [&](std::size_t count, bool truncated) {
    std::string out;
    put16(out, query.id);
    put16(out, kFlagResponse | kFlagRecursionAvailable | (truncated ? kFlagTruncated : 0U) |
                   (query.recursion_desired ? kFlagRecursionDesired : 0U) |
                   static_cast<unsigned>(code));
    put16(out, query.question.empty() ? 0 : 1);
    put16(out, static_cast<unsigned>(count));
    put16(out, 0);
    put16(out, query.has_edns ? 1 : 0);
    out += query.question;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t size = addresses[i].is_v6 ? 16 : 4;
      put16(out, 0xC000 | kHeaderSize);
      put16(out, query.type);
      put16(out, kClassIn);
      put32(out, ttl_s);
      put16(out, static_cast<unsigned>(size));
      out.append(reinterpret_cast<const char*>(addresses[i].bytes.data()), size);
    }
    if (query.has_edns) put_opt(out);
    return out;
  };
  std::string whole = write(addresses.size(), false);
  return whole.size() <= max_size ? whole : write(0, true);
}

std::string write_dns_query(std::uint16_t id, std::string_view name, DnsType type) {
  if (!is_host_name(name)) return {};
  std::string out;
  put16(out, id);
  put16(out, kFlagRecursionDesired);
  put16(out, 1);
  put16(out, 0);
  put16(out, 0);
  put16(out, 1);
  for (const std::string_view label : split(name, '.')) {
    out += static_cast<char>(label.size());
    out += label;
  }
  out += '\0';
  put16(out, static_cast<unsigned>(type));
  put16(out, kClassIn);
  put_opt(out);
  return out;
}

namespace {

// The addresses at the end of the chain of aliases that starts at `name`, and the least TTL on it.
void follow(const std::string& name, const Aliases& aliases,
            const std::vector<std::pair<std::string, std::pair<IpAddress, std::uint32_t>>>& found,
            DnsReply& reply) {
  std::string at = name;
  std::uint32_t ttl = 0x7FFFFFFF;
  for (std::size_t i = 0; i < kMaxAliases; ++i) {
    const auto next = aliases.next.find(at);
    if (next == aliases.next.end()) break;
    ttl = std::min(ttl, aliases.ttl.at(at));
    at = next->second;
  }
  for (const auto& [owner, address] : found) {
    if (owner != at || reply.addresses.size() >= kMaxAddresses) continue;
    reply.addresses.push_back(address.first);
    ttl = std::min(ttl, address.second);
  }
  if (!reply.addresses.empty()) reply.ttl_s = ttl;
}

// The last 32 bits of a SOA record are how long a "no" may be kept (RFC 2308).
std::uint32_t negative_ttl(Cursor& in, std::size_t records) {
  for (std::size_t i = 0; i < records && in.ok(); ++i) {
    const Record record = read_record(in);
    if (!in.ok() || record.type != static_cast<std::uint16_t>(DnsType::kSoa)) continue;
    if (record.data.size() < 20) break;
    Cursor minimum(record.data.substr(record.data.size() - 4));
    return sane_ttl(std::min(record.ttl, minimum.u32()));
  }
  return kDefaultNegativeTtl;
}

}  // namespace

std::optional<DnsReply> read_dns_reply(std::string_view message, std::uint16_t id,
                                       std::string_view name, DnsType type) {
  Cursor in(message);
  const Header header = read_header(in);
  const auto asked = in.name();
  const std::uint16_t asked_type = in.u16();
  const std::uint16_t asked_class = in.u16();
  if (!in.ok() || header.id != id || (header.flags & kFlagResponse) == 0 || header.questions != 1 ||
      asked != lower_case(name) || asked_type != static_cast<std::uint16_t>(type) ||
      asked_class != kClassIn || header.answers > kMaxRecords || header.authorities > kMaxRecords) {
    return std::nullopt;
  }
  DnsReply reply;
  reply.code = static_cast<DnsCode>(header.flags & 0xFU);
  reply.truncated = (header.flags & kFlagTruncated) != 0;
  reply.ttl_s = kDefaultNegativeTtl;
  if (reply.truncated) return reply;
  const std::size_t address_size = type == DnsType::kAaaa ? 16 : 4;
  Aliases aliases;
  std::vector<std::pair<std::string, std::pair<IpAddress, std::uint32_t>>> found;
  for (std::size_t i = 0; i < header.answers; ++i) {
    const Record record = read_record(in);
    if (!in.ok()) return std::nullopt;
    if (!record.owner || record.klass != kClassIn) continue;
    if (record.type == static_cast<std::uint16_t>(DnsType::kCname)) {
      Cursor target(message.substr(0, record.data_at + record.data.size()));
      target.skip(record.data_at);
      const auto alias = target.name();
      if (!target.ok()) return std::nullopt;
      if (!alias) continue;
      aliases.next.emplace(*record.owner, *alias);
      aliases.ttl.emplace(*record.owner, sane_ttl(record.ttl));
    } else if (record.type == asked_type && record.data.size() == address_size) {
      const auto address = ip_from_bytes(record.data);
      found.emplace_back(*record.owner, std::pair(address, sane_ttl(record.ttl)));
    }
  }
  follow(*asked, aliases, found, reply);
  if (reply.addresses.empty()) reply.ttl_s = negative_ttl(in, header.authorities);
  return reply;
}

}  // namespace sbx
