// SPDX-License-Identifier: Apache-2.0
// HelloReader: the records and the handshake messages in them are followed byte by byte (a hello
// may be cut into many records); each hello is then read to its last byte.
#include "gateway/client_hello.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "gateway/dns_message.h"

namespace sbx {
namespace {

// Content types of records.
constexpr unsigned kChangeCipherSpec = 20;
constexpr unsigned kHandshake = 22;
constexpr unsigned kApplicationData = 23;

constexpr unsigned kClientHello = 1;
constexpr unsigned kServerNameExtension = 0;
constexpr unsigned kEarlyDataExtension = 42;
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kMessageHeader = 4;
constexpr std::size_t kMaxRecord = 16384 + 2048;  // an encrypted one of TLS 1.2
// An encrypted Finished is no shorter in any cipher suite: 12 bytes, their header, the shortest tag
// and an explicit nonce where the tag is that short.
constexpr std::size_t kMinSealed = 32;

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

struct Hello {
  std::string server_name;
  bool early_data = false;
};

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

std::optional<Hello> read_hello(std::string_view body) {
  Reader in(body);
  in.take(2 + 32);  // version, random
  const std::string_view session = in.vector(1);
  const std::string_view suites = in.vector(2);
  const std::string_view compressions = in.vector(1);
  if (!in.ok() || session.size() > 32 || suites.empty() || suites.size() % 2 != 0 ||
      compressions.empty()) {
    return std::nullopt;
  }
  Hello hello;
  if (in.at_end()) return hello;  // before TLS 1.3 extensions may be absent
  Reader extensions(in.vector(2));
  if (!in.ok() || !in.at_end()) return std::nullopt;
  while (!extensions.at_end()) {
    const std::size_t type = extensions.number(2);
    const std::string_view data = extensions.vector(2);
    if (!extensions.ok()) return std::nullopt;
    if (type == kEarlyDataExtension) hello.early_data = true;
    if (type != kServerNameExtension) continue;
    const auto name = read_server_name(data);
    if (!name || !hello.server_name.empty()) return std::nullopt;
    hello.server_name = *name;
  }
  return hello;
}

}  // namespace

HelloReader::State HelloReader::feed(std::string_view bytes) {
  State state = State::kReading;
  while (!bytes.empty() && state == State::kReading) {
    const bool in_header = left_ == 0;
    if (!in_header && (skip_ > 0 || byte_at(header_, 0) != kHandshake)) {
      // Neither a hello nor a part of one: it goes on as it comes.
      const std::size_t size = std::min({bytes.size(), left_, skip_ > 0 ? skip_ : left_});
      if (skip_ > 0) skip_ -= size;
      left_ -= size;
      bytes.remove_prefix(size);
      continue;
    }
    ++held_;
    if (in_header) {
      state = read_header(bytes.front());
    } else {
      --left_;
      state = read_message_byte(bytes.front());
    }
    if (state == State::kReading && held_ >= kMaxClientHello) state = State::kBad;
    bytes.remove_prefix(1);
  }
  if (state == State::kNotTls || state == State::kSealed) held_ = 0;
  return state;
}

HelloReader::State HelloReader::read_header(char byte) {
  if (header_.size() == kRecordHeader) header_.clear();
  header_ += byte;
  const unsigned type = byte_at(header_, 0);
  if (type < kChangeCipherSpec || type > kApplicationData) {
    return was_judged_ || !message_.empty() ? State::kBad : State::kNotTls;
  }
  // A server may pass over what stands before the first hello, or read a version that is none.
  if (!was_judged_ && type != kHandshake) return State::kBad;
  if (header_.size() >= 2 && byte_at(header_, 1) != 3) return State::kBad;
  return header_.size() < kRecordHeader ? State::kReading : start_payload();
}

HelloReader::State HelloReader::start_payload() {
  const unsigned type = byte_at(header_, 0);
  left_ = byte_at(header_, 3) << 8 | byte_at(header_, 4);
  if (left_ > kMaxRecord) return State::kBad;
  const bool within_message = !message_.empty() || skip_ > 0;
  if (type == kHandshake) {
    if (left_ == 0) return State::kBad;
    may_be_sealed_ = cipher_changed_ && !within_message && left_ >= kMinSealed;
    if (skip_ > 0) held_ = 0;
    return State::kReading;
  }
  if (within_message) return State::kBad;
  held_ = 0;
  if (type == kChangeCipherSpec) {
    if (other_message_) return State::kSealed;
    cipher_changed_ = true;
  }
  // Of early data a server that wants another hello reads nothing: that hello comes after it.
  if (type == kApplicationData && !early_data_) return State::kSealed;
  return State::kReading;
}

HelloReader::State HelloReader::read_message_byte(char byte) {
  message_ += byte;
  if (message_.size() < kMessageHeader) return State::kReading;
  if (message_.size() == kMessageHeader) {
    const std::size_t size =
        byte_at(message_, 1) << 16 | byte_at(message_, 2) << 8 | byte_at(message_, 3);
    const bool is_hello = byte_at(message_, 0) == kClientHello;
    // After a change of cipher this is the second hello of TLS 1.3, in plain, or an encrypted
    // Finished of a session that TLS 1.2 resumes, whose first bytes are anything.
    if (may_be_sealed_ && !(is_hello && size <= kMaxClientHello && size >= left_)) {
      return State::kSealed;
    }
    if (!is_hello) {
      if (!was_judged_) return State::kBad;
      other_message_ = true;
      skip_ = size;
      message_.clear();
      held_ = 0;
      return State::kReading;
    }
    if (size > kMaxClientHello) return State::kBad;
    message_size_ = kMessageHeader + size;
  }
  return message_.size() == message_size_ ? end_hello() : State::kReading;
}

HelloReader::State HelloReader::end_hello() {
  // What follows in the same record would be another message before the server's answer.
  if (left_ > 0) return State::kBad;
  const auto hello = read_hello(std::string_view(message_).substr(kMessageHeader));
  if (!hello) return State::kBad;
  if (!judge_(hello->server_name)) return State::kRefused;
  was_judged_ = true;
  early_data_ = early_data_ || hello->early_data;
  message_.clear();
  held_ = 0;
  return State::kReading;
}

}  // namespace sbx
