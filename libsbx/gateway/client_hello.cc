// SPDX-License-Identifier: Apache-2.0
// ClientHello: records are joined first (a hello may be cut into many), then the one message is
// read to its last byte.
#include "gateway/client_hello.h"

#include <optional>

#include "gateway/dns_message.h"

namespace sbx {
namespace {

constexpr unsigned kHandshakeRecord = 22;
constexpr unsigned kClientHelloMessage = 1;
constexpr unsigned kServerNameExtension = 0;
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kMaxRecord = 16384;

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// Takes what is there; a step beyond the end makes it bad for good.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::string_view take(std::size_t count) {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::size_t number(std::size_t size) {
    std::size_t value = 0;
    for (const char c : take(size)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  // A vector with a length of `size` bytes before it.
  std::string_view vector(std::size_t size) { return take(number(size)); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

ClientHello bad() { return {ClientHello::Kind::kBad, {}}; }

// The list of RFC 6066: exactly one entry, of type host_name.
std::optional<std::string> read_server_name(std::string_view extension) {
  Reader outer(extension);
  Reader list(outer.vector(2));
  const std::size_t type = list.number(1);
  const std::string_view name = list.vector(2);
  if (!outer.ok() || !outer.at_end() || !list.ok() || !list.at_end() || type != 0) return {};
  if (name.find('\0') != std::string_view::npos) return std::nullopt;
  std::string lower = lower_case(name);
  if (lower.ends_with('.')) lower.pop_back();
  if (lower.empty()) return std::nullopt;
  return lower;
}

ClientHello read_message(std::string_view body) {
  Reader in(body);
  in.take(2 + 32);  // version, random
  const std::string_view session = in.vector(1);
  const std::string_view suites = in.vector(2);
  const std::string_view compressions = in.vector(1);
  if (!in.ok() || session.size() > 32 || suites.empty() || suites.size() % 2 != 0 ||
      compressions.empty()) {
    return bad();
  }
  ClientHello hello{ClientHello::Kind::kHello, {}};
  if (in.at_end()) return hello;  // before TLS 1.3 extensions may be absent
  Reader extensions(in.vector(2));
  if (!in.ok() || !in.at_end()) return bad();
  while (!extensions.at_end()) {
    const std::size_t type = extensions.number(2);
    const std::string_view data = extensions.vector(2);
    if (!extensions.ok()) return bad();
    if (type != kServerNameExtension) continue;
    const auto name = read_server_name(data);
    if (!name || !hello.server_name.empty()) return bad();
    hello.server_name = *name;
  }
  return hello;
}

}  // namespace

ClientHello read_client_hello(std::string_view bytes) {
  using Kind = ClientHello::Kind;
  if (bytes.empty()) return {};
  if (byte_at(bytes, 0) != kHandshakeRecord) return {Kind::kNotTls, {}};
  if (bytes.size() >= 2 && byte_at(bytes, 1) != 3) return {Kind::kNotTls, {}};
  const auto need_more = [&] { return bytes.size() >= kMaxClientHello ? bad() : ClientHello{}; };
  std::string message;
  for (std::string_view rest = bytes;;) {
    if (message.size() >= 4) {
      if (byte_at(message, 0) != kClientHelloMessage) return bad();
      const std::size_t size =
          byte_at(message, 1) << 16 | byte_at(message, 2) << 8 | byte_at(message, 3);
      if (size > kMaxClientHello) return bad();
      // What follows in the same record would be another message before the server's answer.
      if (message.size() > 4 + size) return bad();
      if (message.size() == 4 + size) return read_message(std::string_view(message).substr(4));
    }
    if (rest.size() < kRecordHeader) return need_more();
    const std::size_t size = byte_at(rest, 3) << 8 | byte_at(rest, 4);
    if (byte_at(rest, 0) != kHandshakeRecord || byte_at(rest, 1) != 3 || size == 0 ||
        size > kMaxRecord) {
      return bad();
    }
    if (rest.size() < kRecordHeader + size) return need_more();
    message += rest.substr(kRecordHeader, size);
    rest.remove_prefix(kRecordHeader + size);
  }
}

}  // namespace sbx
