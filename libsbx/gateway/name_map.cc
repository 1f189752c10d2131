// SPDX-License-Identifier: Apache-2.0
// NameMap: numbers are given out in turn, so that an address that a program still remembers is not
// soon another name's.
#include "gateway/name_map.h"

#include <algorithm>

namespace sbx {

NameMap::NameMap(std::size_t max_names, std::uint32_t addresses)
    : max_names_(std::min<std::size_t>(max_names, addresses)), addresses_(addresses) {}

IpAddress NameMap::v4_of(std::uint32_t number) {
  const std::uint32_t bits = (198U << 24 | 18U << 16) + number;
  const auto byte = [&](int shift) { return static_cast<std::uint8_t>(bits >> shift & 0xFF); };
  return ipv4(byte(24), byte(16), byte(8), byte(0));
}

IpAddress NameMap::v6_of(std::uint32_t number) {
  IpAddress address = *parse_ip("fd00:5b::");
  for (std::size_t i = 0; i < 4; ++i) {
    address.bytes[15 - i] = static_cast<std::uint8_t>(number >> (8 * i) & 0xFF);
  }
  return address;
}

bool NameMap::is_mapped_range(const IpAddress& address) {
  return in_network(address, ipv4(198, 18, 0, 0), 15) ||
         in_network(address, *parse_ip("fd00:5b::"), 64);
}

std::optional<std::string> NameMap::name_of(const IpAddress& address) const {
  if (!is_mapped_range(address)) return std::nullopt;
  std::uint32_t number = 0;
  const std::size_t end = address.is_v6 ? 16 : 4;
  for (std::size_t i = end - 4; i < end; ++i) number = number << 8 | address.bytes[i];
  if (!address.is_v6) number -= 198U << 24 | 18U << 16;
  const auto found = by_number_.find(number);
  // The bytes between the network and the number must be those that were given out.
  if (found == by_number_.end() || (address.is_v6 && v6_of(number) != address)) return {};
  return found->second;
}

void NameMap::touch(Entry& entry) { by_age_.splice(by_age_.end(), by_age_, entry.age); }

bool NameMap::forget_oldest() {
  const auto oldest = std::find_if(by_age_.begin(), by_age_.end(), [&](const std::string& name) {
    return by_name_.at(name).connections == 0;
  });
  if (oldest == by_age_.end()) return false;
  const auto entry = by_name_.find(*oldest);
  by_number_.erase(entry->second.number);
  by_name_.erase(entry);
  by_age_.erase(oldest);
  return true;
}

std::optional<std::uint32_t> NameMap::number_of(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) {
    touch(found->second);
    return found->second.number;
  }
  if (by_name_.size() >= max_names_ && !forget_oldest()) return std::nullopt;
  const auto advance = [this] { return next_number_ = next_number_ % addresses_ + 1; };
  while (by_number_.contains(next_number_)) advance();
  const std::uint32_t number = next_number_;
  advance();
  by_age_.push_back(name);
  by_name_.emplace(name, Entry{number, 0, std::prev(by_age_.end())});
  by_number_.emplace(number, name);
  return number;
}

void NameMap::hold(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return;
  ++found->second.connections;
  touch(found->second);
}

void NameMap::release(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end() && found->second.connections > 0) --found->second.connections;
}

}  // namespace sbx
