// SPDX-License-Identifier: Apache-2.0
// Open addressing; keys are digests, so nobody chooses where theirs falls.
#include "id_set.h"

#include <charconv>
#include <string>

#include "base/sha256.h"

namespace sbx::batch {
namespace {

constexpr std::uint64_t kMarks = 7;
constexpr std::size_t kFirstSlots = 1024;

std::uint64_t number_of(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

}  // namespace

IdSet::Slot IdSet::key_of(std::string_view id) {
  const std::string digest = sha256_hex(id);
  const std::string_view text = digest;
  return {number_of(text.substr(0, 16)) | 1, number_of(text.substr(16, 16)) & ~kMarks};
}

std::size_t IdSet::place_of(const Slot& key) const {
  __extension__ using Wide = unsigned __int128;
  auto place = static_cast<std::size_t>(static_cast<Wide>(key.high) * slots_.size() >> 64);
  while (slots_[place].high != 0 &&
         (slots_[place].high != key.high || (slots_[place].low & ~kMarks) != key.low)) {
    if (++place == slots_.size()) place = 0;
  }
  return place;
}

void IdSet::grow() {
  std::vector<Slot> old(slots_.empty() ? kFirstSlots : slots_.size() + slots_.size() / 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.high != 0) slots_[place_of({slot.high, slot.low & ~kMarks})] = slot;
  }
}

unsigned IdSet::mark(std::string_view id, unsigned marks) {
  if (size_ * 8 >= slots_.size() * 7) grow();
  const Slot key = key_of(id);
  Slot& slot = slots_[place_of(key)];
  if (slot.high == 0) {
    slot = key;
    ++size_;
  }
  const auto before = static_cast<unsigned>(slot.low & kMarks);
  slot.low |= marks;
  return before;
}

unsigned IdSet::marks(std::string_view id) const {
  if (slots_.empty()) return 0;
  return static_cast<unsigned>(slots_[place_of(key_of(id))].low & kMarks);
}

}  // namespace sbx::batch
