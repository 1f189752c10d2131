// SPDX-License-Identifier: Apache-2.0
// The tables of the shipped formats. Only read-only data: a run that prints nothing pays nothing.
#include "output/secret_formats.h"

namespace sbx {
namespace {

constexpr SecretFormat kFormats[] = {
#include "redaction_formats.inc"
};

constexpr Literal kKeywords[] = {
#include "redaction_keywords.inc"
};

struct KeywordTables {
  std::array<LiteralGram, std::size(kKeywords)> grams{};
  GramMap map{};
};

constexpr KeywordTables kTables = [] {
  KeywordTables tables;
  index_literals(std::span(kKeywords), tables.grams, tables.map);
  return tables;
}();

constexpr LiteralFinder kFinder(kKeywords, kTables.grams, kTables.map);

}  // namespace

std::span<const SecretFormat> secret_formats() { return kFormats; }

const LiteralFinder& secret_keywords() { return kFinder; }

}  // namespace sbx
