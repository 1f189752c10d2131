// SPDX-License-Identifier: Apache-2.0
// The tables of the shipped formats: read-only data, packed, since every program carries them. The
// map of the keywords is filled when a long text is first searched: in the file it would be larger
// than all the rest, and a run that prints nothing pays nothing.
#include "output/secret_formats.h"

#include <algorithm>
#include <array>

namespace sbx {
namespace {

// A format's id and expression stand one behind the other in the text of all.
struct PackedFormat {
  std::uint32_t begin = 0;
  std::uint16_t expression_size = 0;
  std::uint8_t id_size = 0;
  std::uint8_t entropy_tenths = 0;
  FormatMatch match = FormatMatch::kText;
  bool whole = false;
};

// Only for the compiler: none of it is in the program.
consteval auto listed_formats() {
  return std::to_array<SecretFormat>({
#include "redaction_formats.inc"
  });
}

constexpr std::size_t kCount = listed_formats().size();

consteval std::size_t text_size() {
  std::size_t size = 0;
  for (const SecretFormat& format : listed_formats()) {
    size += format.id.size() + format.expression.size();
  }
  return size;
}

struct Formats {
  std::array<PackedFormat, kCount> rows{};
  std::array<char, text_size()> text{};
};

// To the nearest: lround() is no constant expression.
constexpr std::uint8_t tenths(double value) {
  const double scaled = value * 10;
  const auto whole = static_cast<std::uint8_t>(scaled);
  return static_cast<std::uint8_t>(whole + (scaled - whole >= 0.5 ? 1 : 0));
}

constexpr Formats kFormats = [] {
  Formats packed;
  const auto formats = listed_formats();
  auto* to = packed.text.begin();
  for (std::size_t i = 0; i < kCount; ++i) {
    const SecretFormat& format = formats[i];
    packed.rows[i] = {static_cast<std::uint32_t>(to - packed.text.begin()),
                      static_cast<std::uint16_t>(format.expression.size()),
                      static_cast<std::uint8_t>(format.id.size()),
                      tenths(format.entropy),
                      format.match,
                      format.whole};
    to = std::copy(format.id.begin(), format.id.end(), to);
    to = std::copy(format.expression.begin(), format.expression.end(), to);
  }
  return packed;
}();

struct Keyword {
  std::string_view text;
  std::uint16_t format;
};

// Only for the compiler, as the formats.
consteval auto listed_keywords() {
  return std::to_array<Keyword>({
#include "redaction_keywords.inc"
  });
}

constexpr std::size_t kKeywordCount = listed_keywords().size();

consteval std::size_t keyword_text_size() {
  std::size_t size = 0;
  for (const Keyword& keyword : listed_keywords()) size += keyword.text.size();
  return size;
}

struct KeywordTables {
  std::array<char, keyword_text_size()> text{};
  std::array<std::uint32_t, kKeywordCount + 1> begins{};
  std::array<std::uint16_t, kKeywordCount> formats{};
  std::array<LiteralGram, kKeywordCount> grams{};
  GramStarts starts{};

  constexpr Literals literals() const { return {text.data(), begins, formats, true}; }
};

constexpr KeywordTables kTables = [] {
  KeywordTables tables;
  const auto keywords = listed_keywords();
  auto* to = tables.text.begin();
  for (std::size_t i = 0; i < kKeywordCount; ++i) {
    to = std::copy(keywords[i].text.begin(), keywords[i].text.end(), to);
    tables.begins[i + 1] = static_cast<std::uint32_t>(to - tables.text.begin());
    tables.formats[i] = keywords[i].format;
  }
  index_literals(tables.literals(), tables.grams, tables.starts);
  return tables;
}();

const GramMap& keyword_map() {
  static GramMap map;
  static const bool filled = (fill_gram_map(kTables.grams, map), true);
  static_cast<void>(filled);
  return map;
}

}  // namespace

std::size_t SecretFormats::size() const { return kCount; }

SecretFormat SecretFormats::operator[](std::size_t index) const {
  constexpr double kTenth = 10;
  const PackedFormat& row = kFormats.rows[index];
  const std::string_view text(kFormats.text.data() + row.begin, row.id_size + row.expression_size);
  return {text.substr(0, row.id_size), row.match, text.substr(row.id_size),
          row.entropy_tenths / kTenth, row.whole};
}

LiteralFinder secret_keywords(std::size_t text_size) {
  constexpr std::size_t kWorthAMap = 8 << 10;
  return {kTables.literals(), kTables.grams, kTables.starts,
          text_size < kWorthAMap ? nullptr : &keyword_map()};
}

}  // namespace sbx
