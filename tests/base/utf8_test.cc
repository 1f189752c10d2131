// SPDX-License-Identifier: Apache-2.0
// Tests of base/utf8: against Python's decoder, and against a slow one that reads table 3-7 as it
// stands, over every sequence of one, two and three bytes.
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <random>
#include <string>

#include "../../fuzz/output/properties.h"
#include "base/hex.h"
#include "output/corpus.h"

namespace sbx {
namespace {

struct Range {
  unsigned low;
  unsigned high;
};

// Unicode 15, table 3-7, row by row.
struct Row {
  std::size_t length;
  std::array<Range, 4> bytes;
};
constexpr Range kAny = {0x80, 0xBF};
constexpr std::array<Row, 9> kTable = {{
    {1, {{{0x00, 0x7F}}}},
    {2, {{{0xC2, 0xDF}, kAny}}},
    {3, {{{0xE0, 0xE0}, {0xA0, 0xBF}, kAny}}},
    {3, {{{0xE1, 0xEC}, kAny, kAny}}},
    {3, {{{0xED, 0xED}, {0x80, 0x9F}, kAny}}},
    {3, {{{0xEE, 0xEF}, kAny, kAny}}},
    {4, {{{0xF0, 0xF0}, {0x90, 0xBF}, kAny, kAny}}},
    {4, {{{0xF1, 0xF3}, kAny, kAny, kAny}}},
    {4, {{{0xF4, 0xF4}, {0x80, 0x8F}, kAny, kAny}}},
}};

std::size_t matching_bytes(const Row& row, std::string_view text) {
  std::size_t count = 0;
  while (count < row.length && count < text.size()) {
    const unsigned byte = static_cast<unsigned char>(text[count]);
    if (byte < row.bytes[count].low || byte > row.bytes[count].high) break;
    ++count;
  }
  return count;
}

std::string slow_repair(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t longest = 1;  // a byte that begins no row is a subpart of its own
    bool whole = false;
    for (const Row& row : kTable) {
      const std::size_t count = matching_bytes(row, text);
      if (count == 0) continue;
      longest = std::max(longest, count);
      whole = whole || count == row.length;
    }
    if (whole) {
      out += text.substr(0, longest);
    } else {
      out += "\xEF\xBF\xBD";
    }
    text.remove_prefix(longest);
  }
  return out;
}

TEST(Utf8, RepairsAsPythonDoes) {
  std::ifstream vectors(SBX_SOURCE_DIR "/tests/base/utf8_vectors.txt");
  std::string input;
  std::string expected;
  int count = 0;
  while (vectors >> input >> expected) {
    EXPECT_EQ(repair_utf8(from_hex(input)), from_hex(expected)) << input;
    ++count;
  }
  EXPECT_EQ(count, 1500);
}

TEST(Utf8, RepairsEverySequenceOfUpToThreeBytesAsTheTableSays) {
  std::size_t wrong = 0;
  std::string text;
  for (unsigned length = 1; length <= 3; ++length) {
    for (unsigned code = 0; code < 1U << (8 * length); ++code) {
      text.assign({char(code), char(code >> 8), char(code >> 16)}).resize(length);
      const std::string expected = slow_repair(text);
      wrong += repair_utf8(text) == expected ? 0U : 1U;
      wrong += is_valid_utf8(text) == (expected == text) ? 0U : 1U;
    }
  }
  EXPECT_EQ(wrong, 0U);
}

TEST(Utf8, FindsBadBytesAtEveryOffsetOfALongAsciiRun) {
  for (std::size_t at = 0; at < 80; ++at) {
    std::string text(80, 'a');
    text[at] = '\xff';
    EXPECT_EQ(valid_utf8_prefix(text), at);
    EXPECT_EQ(repair_utf8(text), slow_repair(text));
  }
}

TEST(Utf8, AgreesWithTheSlowDecoderOnRandomBytes) {
  std::mt19937 random(7);
  constexpr std::string_view kPool = "abc \n\x80\xBF\xC2\xE0\xA0\xED\x9F\xEF\xF0\x90\xF4\x8F\xFF";
  for (int round = 0; round < 20'000; ++round) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = kPool[random() % kPool.size()];
    ASSERT_EQ(repair_utf8(text), slow_repair(text));
    ASSERT_TRUE(utf8_repair_holds(text));
  }
}

TEST(Utf8, KnowsACharacterThatIsCutAtTheEndOrTheStart) {
  const std::string grin = "\xF0\x9F\x98\x80";
  EXPECT_EQ(cut_character_suffix("ab" + grin), 0U);
  for (std::size_t kept = 1; kept <= 3; ++kept) {
    EXPECT_EQ(cut_character_suffix("ab" + grin.substr(0, kept)), kept);
    EXPECT_EQ(cut_character_prefix(grin.substr(kept) + "ab"), 4 - kept);
  }
  EXPECT_EQ(cut_character_suffix("\xE0\x80"), 0U);  // no character begins so
  EXPECT_EQ(cut_character_suffix("\xFF"), 0U);
  EXPECT_EQ(cut_character_suffix(""), 0U);
  EXPECT_EQ(cut_character_prefix("\x80\x80\x80\x80\x80"), 3U);
  EXPECT_EQ(cut_character_prefix("a\x80"), 0U);
}

TEST(Utf8Stream, GivesTheSameWhereverItIsCut) {
  const std::string text = "a\xE2\x82\xAC\xF0\x9F\x98\x80\xE2\x82z\xFF\xF0\x9F";
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      Utf8Stream stream;
      std::string out = stream.append(text.substr(0, first));
      EXPECT_TRUE(is_valid_utf8(out));
      out += stream.append(text.substr(first, second - first));
      EXPECT_TRUE(is_valid_utf8(out));
      out += stream.append(text.substr(second));
      EXPECT_TRUE(is_valid_utf8(out));
      EXPECT_EQ(out + stream.finish(), repair_utf8(text));
    }
  }
}

TEST(Utf8, CorpusHolds) {
  const auto corpus = read_corpus("utf8");
  EXPECT_GE(corpus.size(), 8U);
  for (const auto& [name, content] : corpus) EXPECT_TRUE(utf8_repair_holds(content)) << name;
}

}  // namespace
}  // namespace sbx
