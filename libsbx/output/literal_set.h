// SPDX-License-Identifier: Apache-2.0
// Many literals, one pass over the text. Every four bytes of the text are hashed and looked up in a
// map of 64 KiB; only where a literal may stand is anything compared.
// The grams can be chosen by the compiler (literals known beforehand) or at run time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sbx {

// Literals that stand one behind the other in one text: small tables, since there are some two
// thousand of them in every program. The tables outlive it.
class Literals {
 public:
  // At least kShortestLiteral bytes each; lower case where any_case (ASCII). `begins` has one
  // number more, where the last one ends. A tag means something to the owner.
  constexpr Literals(const char* text, std::span<const std::uint32_t> begins,
                     std::span<const std::uint16_t> tags, bool any_case)
      : text_(text), begins_(begins), tags_(tags), any_case_(any_case) {}

  constexpr std::size_t size() const { return tags_.size(); }
  constexpr std::string_view operator[](std::size_t i) const {
    return {text_ + begins_[i], begins_[i + 1] - begins_[i]};
  }
  constexpr std::uint16_t tag(std::size_t i) const { return tags_[i]; }
  constexpr bool any_case() const { return any_case_; }

 private:
  const char* text_;
  std::span<const std::uint32_t> begins_;
  std::span<const std::uint16_t> tags_;
  bool any_case_;
};

struct LiteralHit {
  std::size_t begin;
  std::size_t end;
  std::uint32_t tag;
};

inline constexpr std::size_t kShortestLiteral = 4;

// Four bytes of a literal, by which it is found.
struct LiteralGram {
  std::uint32_t product;
  std::uint16_t offset;  // in the literal
  std::uint16_t literal;
};

// By hash: what a gram with that hash has for a fingerprint; 0 where there is none, kAnyPrint where
// there are several. A byte for each hash, not a bit: three instructions less for each byte of
// text.
using GramMap = std::array<std::uint8_t, 1 << 16>;
inline constexpr std::uint8_t kAnyPrint = 0xFF;

// By the first byte of a product: where its grams are.
using GramStarts = std::array<std::uint16_t, (1 << 8) + 1>;
inline constexpr unsigned kStartShift = 24;

// Bit 5 of every byte is set first, which folds ASCII case; what else it folds only costs a
// comparison.
constexpr std::uint32_t fold(std::uint32_t word) { return word | 0x20202020U; }
constexpr std::uint32_t gram_product(std::uint32_t word) { return fold(word) * 0x9E3779B1U; }
constexpr std::uint32_t gram_hash(std::uint32_t product) { return product >> 16; }
constexpr std::uint8_t gram_print(std::uint32_t product) {
  return static_cast<std::uint8_t>((product >> 8 & 0x7FU) + 1);
}

// How common each byte is in logs, roughly; letters without case.
inline constexpr std::array<std::uint8_t, 256> kCommonness = [] {
  std::array<std::uint8_t, 256> table{};
  std::uint8_t score = 1;
  for (const char c : std::string_view("xwkvybfgh_:/-. umpdclrsnioate")) {
    table[static_cast<unsigned char>(c)] = score;
    if (c >= 'a' && c <= 'z') table[static_cast<unsigned char>(c) - 0x20U] = score;
    ++score;
  }
  return table;
}();

// Four bytes as a little-endian load sees them.
constexpr std::uint32_t word_of(std::string_view text) {
  std::uint32_t word = 0;
  for (std::size_t i = kShortestLiteral; i-- > 0;) {
    word = word << 8 | static_cast<unsigned char>(text[i]);
  }
  return word;
}

// Fours of bytes that are common in logs and sources though their bytes are not; folded as
// gram_product() folds them.
inline constexpr std::array<std::uint32_t, 206> kCommonGrams = [] {
  constexpr std::string_view kText =
      " = ( api cha key log pas tok use was-dev-key-lin.com000001001000_acc_api_app_bin"
      "_cha_key_log_pro_tok_wriabilackaalizampland_api_archard_ass asswauthbasebasibili"
      "binable ble_bounbuckbugsbuilcceschanciphckagclieclouconvcookcordcredcretcrypctiv"
      "curscustd byd chd ofd padefader_deskdifydigedisce use_ched befauenabentrequier_s"
      "erivexecextrey sfaulfiguflagforwgestgin(globgooggramh = hangheadhelphookhub.iam_"
      "ify_igesin pinerion_ipheitchity_ivative_izatizerkageken key key_keysldaplienlink"
      "litylizelogglogiloudlwaymailmandmap_markmplin isn pan sencenncryndexntrynverodif"
      "okenomiconveor.lord orizorksotifpackpaddpasspherplicportprivprovpushquirr.lir_se"
      "replrequret ringrityrivarizarwarryptsec_secrsiblsignsswostabsts.swort ist pat us"
      "tabltackth =thubtifytkeytokeub.cuireult upsturl useruthover vertviewwalkwardwitc"
      "withwordworkxtray iszati";
  std::array<std::uint32_t, kText.size() / kShortestLiteral> grams{};
  for (std::size_t i = 0; i < grams.size(); ++i)
    grams[i] = fold(word_of(kText.substr(i * kShortestLiteral)));
  std::sort(grams.begin(), grams.end());
  return grams;
}();

// The literal's gram whose bytes are rarest, a common one only where there is no other.
constexpr LiteralGram rarest_gram(std::string_view text, std::uint16_t literal) {
  constexpr std::size_t kMostOffset = 1000;
  LiteralGram best{};
  unsigned best_score = static_cast<unsigned>(-1);
  const std::size_t last = std::min(text.size() - kShortestLiteral, kMostOffset);
  for (std::size_t at = 0; at <= last; ++at) {
    const auto byte = [&](std::size_t i) -> unsigned {
      return static_cast<unsigned char>(text[at + i]);
    };
    constexpr unsigned kMost = 1000;
    const std::uint32_t word = word_of(text.substr(at));
    const bool common = std::binary_search(kCommonGrams.begin(), kCommonGrams.end(), fold(word));
    const unsigned score = (common ? kMost : 0U) + kCommonness[byte(0)] + kCommonness[byte(1)] +
                           kCommonness[byte(2)] + kCommonness[byte(3)];
    if (score >= best_score) continue;
    best_score = score;
    best = {gram_product(word), static_cast<std::uint16_t>(at), literal};
  }
  return best;
}

// Tables over literals that outlive it.
class LiteralFinder {
 public:
  // Without a map every place is looked up: ten times slower, but for a short text still less than
  // it takes to touch one.
  constexpr LiteralFinder(Literals literals, std::span<const LiteralGram> grams,
                          const GramStarts& starts, const GramMap* map)
      : literals_(literals), grams_(grams), starts_(&starts), map_(map) {}

  // Appends every place where a literal stands, in no particular order.
  void find(std::string_view text, std::vector<LiteralHit>& hits) const;

 private:
  void compare_at(std::string_view text, std::size_t at, std::vector<LiteralHit>& hits) const;

  Literals literals_;
  std::span<const LiteralGram> grams_;  // by product
  const GramStarts* starts_;
  const GramMap* map_;
};

// The literals' grams in their order; constexpr, so that those of a fixed list are known at run
// time.
constexpr void index_literals(const Literals& literals, std::span<LiteralGram> grams,
                              GramStarts& starts) {
  for (std::size_t i = 0; i < literals.size(); ++i) {
    grams[i] = rarest_gram(literals[i], static_cast<std::uint16_t>(i));
  }
  std::sort(grams.begin(), grams.end(), [](const LiteralGram& a, const LiteralGram& b) {
    return a.product != b.product ? a.product < b.product : a.literal < b.literal;
  });
  for (const LiteralGram& gram : grams) ++starts[(gram.product >> kStartShift) + 1];
  for (std::size_t i = 1; i < starts.size(); ++i) {
    starts[i] = static_cast<std::uint16_t>(starts[i] + starts[i - 1]);
  }
}

// Enters the grams in an empty map.
void fill_gram_map(std::span<const LiteralGram> grams, GramMap& map);

// Literals known only at run time, at most 65,535; shorter ones than kShortestLiteral are left out.
class LiteralSet {
 public:
  void add(std::string_view text, std::uint16_t tag);
  void build();
  LiteralFinder finder() const { return {literals(), grams_, starts_, &map_}; }
  // How many bytes at the end of `text` begin one of them, which may go on.
  std::size_t begun_by(std::string_view text) const;

 private:
  Literals literals() const { return {text_.data(), begins_, tags_, false}; }

  std::string text_;
  std::vector<std::uint32_t> begins_{0};
  std::vector<std::uint16_t> tags_;
  std::vector<LiteralGram> grams_;
  GramStarts starts_{};
  GramMap map_{};
};

}  // namespace sbx
