// SPDX-License-Identifier: Apache-2.0
// NameMap: allowed names ↔ the addresses that the sandbox is answered with (198.18.0.0/15 and
// fd00:5b::/64, the same number in both). Bounded; forgets the name that was used longest ago,
// never one that holds connections, and gives out an address again as late as possible.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "gateway/address.h"

namespace sbx {

class NameMap {
 public:
  static constexpr std::size_t kDefaultNames = 4096;
  // `addresses`: how many numbers there are, at most what 198.18.0.0/15 holds.
  explicit NameMap(std::size_t max_names = kDefaultNames, std::uint32_t addresses = 131070);

  // The name's number, made if new; nullopt when every name holds connections.
  std::optional<std::uint32_t> number_of(const std::string& name);
  static IpAddress v4_of(std::uint32_t number);
  static IpAddress v6_of(std::uint32_t number);

  // The name that an address stands for.
  std::optional<std::string> name_of(const IpAddress& address) const;
  static bool is_mapped_range(const IpAddress& address);

  // A connection to the name begins and ends.
  void hold(const std::string& name);
  void release(const std::string& name);

  std::size_t size() const { return by_name_.size(); }

 private:
  struct Entry {
    std::uint32_t number = 0;
    std::size_t connections = 0;
    std::list<std::string>::iterator age;
  };

  bool forget_oldest();
  void touch(Entry& entry);

  std::size_t max_names_;
  std::uint32_t addresses_;
  std::uint32_t next_number_ = 1;
  std::list<std::string> by_age_;  // oldest first
  std::unordered_map<std::string, Entry> by_name_;
  std::unordered_map<std::uint32_t, std::string> by_number_;
};

}  // namespace sbx
