// SPDX-License-Identifier: Apache-2.0
// SERIAL.CONTENT.SIGNATURE, where the content is hex: text that survives every transport.
#include "rpc/signed_state.h"

#include <vector>

#include "base/hex.h"
#include "base/sha256.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kMostOpen = 1024;

// Takes the same time wherever the two differ.
bool equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differences = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differences |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return differences == 0;
}

Error refused(const char* why) {
  return Error{ErrorCode::kBadValue, std::string("the state ") + why, "/requestState",
               "call the tool again without it"};
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::string block(key.size() > kBlockBytes ? from_hex(sha256_hex(key)) : std::string(key));
  block.resize(kBlockBytes, '\0');
  std::string inner;
  std::string outer;
  for (const char c : block) {
    inner += static_cast<char>(c ^ 0x36);
    outer += static_cast<char>(c ^ 0x5c);
  }
  return sha256_hex(outer + from_hex(sha256_hex(inner + std::string(text))));
}

SignedState::SignedState(const StateKey& key, Clock::duration good_for)
    : key_(key.begin(), key.end()), good_for_(good_for) {}

// Both lengths are part of what is signed, so that no two pairs read the same.
std::string SignedState::signature(std::string_view payload, std::string_view request) const {
  return hmac_sha256(
      key_, std::to_string(payload.size()) + ":" + std::string(payload) + std::string(request));
}

std::string SignedState::seal(std::string_view content, std::string_view request,
                              Clock::time_point now) {
  std::erase_if(open_, [&](const auto& entry) { return entry.second <= now; });
  if (open_.size() >= kMostOpen) open_.erase(open_.begin());
  const std::string payload = std::to_string(next_serial_) + "." + to_hex(content);
  open_.emplace(next_serial_++, now + good_for_);
  return payload + "." + signature(payload, request);
}

Result<std::string> SignedState::open(std::string_view state, std::string_view request,
                                      Clock::time_point now) {
  const std::vector<std::string_view> parts = split(state, '.');
  if (parts.size() != 3) return refused("is not one of this server's");
  const std::string_view payload = state.substr(0, parts[0].size() + 1 + parts[1].size());
  if (!equal(parts[2], signature(payload, request))) {
    return refused("is not one of this server's, or is for another request");
  }
  const auto serial = parse_count(parts[0], INT64_MAX);
  const auto found = serial ? open_.find(static_cast<std::uint64_t>(*serial)) : open_.end();
  if (found == open_.end()) return refused("has been used, or has expired");
  const bool expired = found->second <= now;
  open_.erase(found);
  if (expired) return refused("has expired");
  return from_hex(parts[1]);
}

}  // namespace sbx
