// SPDX-License-Identifier: Apache-2.0
// The search. A few bytes in a hundred of ordinary text pass the map by chance.
#include "output/literal_set.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace sbx {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool equal(std::string_view text, std::string_view literal, bool any_case) {
  if (!any_case) return text == literal;
  return std::equal(text.begin(), text.end(), literal.begin(), literal.end(),
                    [](char a, char b) { return lower(a) == b; });
}

std::uint32_t product_at(const char* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return gram_product(word);
}

}  // namespace

void LiteralFinder::compare_at(std::string_view text, std::size_t at,
                               std::vector<LiteralHit>& hits) const {
  const std::uint32_t product = product_at(text.data() + at);
  auto gram = grams_.begin() + (*starts_)[product >> kStartShift];
  while (gram != grams_.end() && gram->product < product) ++gram;
  for (; gram != grams_.end() && gram->product == product; ++gram) {
    const std::string_view literal = literals_[gram->literal];
    const std::uint16_t tag = literals_.tag(gram->literal);
    if (at < gram->offset || text.size() - (at - gram->offset) < literal.size()) continue;
    const std::size_t begin = at - gram->offset;
    if (!equal(text.substr(begin, literal.size()), literal, literals_.any_case())) continue;
    const std::size_t end = begin + literal.size();
    // A run of one letter, which holds a literal of that letter at every place, is one hit.
    if (!hits.empty() && hits.back().tag == tag && hits.back().end + 1 == end) {
      hits.back().end = end;
      continue;
    }
    hits.push_back({begin, end, tag});
  }
}

void LiteralFinder::find(std::string_view text, std::vector<LiteralHit>& hits) const {
  if (literals_.size() == 0 || text.size() < kShortestLiteral) return;
  if (map_ == nullptr) {
    for (std::size_t at = 0; at + kShortestLiteral <= text.size(); ++at) {
      compare_at(text, at, hits);
    }
    return;
  }
  const char* data = text.data();
  const std::uint8_t* map = map_->data();
  constexpr std::size_t kAtOnce = 8;
  const std::size_t places = text.size() - kShortestLiteral + 1;
  std::size_t at = 0;
  const auto look = [&](std::size_t place, std::uint8_t print) {
    const std::uint8_t own = gram_print(product_at(data + place));
    if (print == own || print == kAnyPrint) compare_at(text, place, hits);
  };
  for (; at + kAtOnce <= places; at += kAtOnce) {
    std::uint64_t prints = 0;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      prints |= std::uint64_t{map[gram_hash(product_at(data + at + i))]} << (8 * i);
    }
    while (prints != 0) {
      const auto i = static_cast<std::size_t>(std::countr_zero(prints)) / 8;
      look(at + i, static_cast<std::uint8_t>(prints >> (8 * i)));
      prints &= ~(std::uint64_t{0xFF} << (8 * i));
    }
  }
  for (; at < places; ++at) {
    const std::uint8_t print = map[gram_hash(product_at(data + at))];
    if (print != 0) look(at, print);
  }
}

void LiteralSet::add(std::string_view text, std::uint16_t tag) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
  if (text.size() < kShortestLiteral || tags_.size() == kMost) return;
  text_ += text;
  begins_.push_back(static_cast<std::uint32_t>(text_.size()));
  tags_.push_back(tag);
}

void LiteralSet::build() {
  grams_.resize(tags_.size());
  index_literals(literals(), grams_, starts_);
  fill_gram_map(grams_, map_);
}

std::size_t LiteralSet::begun_by(std::string_view text) const {
  std::size_t most = 0;
  const Literals all = literals();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view whole = all[i];
    std::size_t size = std::min(whole.size() - 1, text.size());
    while (size > most && !text.ends_with(whole.substr(0, size))) --size;
    most = std::max(most, size);
  }
  return most;
}

void fill_gram_map(std::span<const LiteralGram> grams, GramMap& map) {
  for (const LiteralGram& gram : grams) {
    std::uint8_t& print = map[gram_hash(gram.product)];
    const std::uint8_t own = gram_print(gram.product);
    print = print == 0 || print == own ? own : kAnyPrint;
  }
}

}  // namespace sbx
