// SPDX-License-Identifier: Apache-2.0
// What is known of each id: some 16 to 28 bytes an id, whatever its length (124 bits of its SHA-256
// and three marks), in one table that grows by half.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sbx::batch {

enum IdMark : unsigned {
  kRecorded = 1,  // the results have it
  kFailed = 2,    // they say that it did not exit with 0
  kSeen = 4,      // a line of this input had it
};

class IdSet {
 public:
  // Marks the id; the marks that it had before.
  unsigned mark(std::string_view id, unsigned marks);
  unsigned marks(std::string_view id) const;
  std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t high = 0;  // 0: free
    std::uint64_t low = 0;   // the lowest bits are the marks
  };
  static Slot key_of(std::string_view id);
  std::size_t place_of(const Slot& key) const;
  void grow();

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace sbx::batch
