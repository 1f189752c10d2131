// SPDX-License-Identifier: Apache-2.0
// The table of shipped profiles.
#include "profile/shipped.h"

#include <algorithm>
#include <array>

namespace sbx {
namespace {

constexpr auto kShipped = std::to_array<ShippedText>({
#include "shipped_profiles.inc"
});

}  // namespace

std::span<const ShippedText> shipped_texts() { return kShipped; }

const ShippedText* find_shipped(std::string_view name) {
  const auto* at = std::find_if(kShipped.begin(), kShipped.end(),
                                [&](const ShippedText& shipped) { return shipped.name == name; });
  return at == kShipped.end() ? nullptr : at;
}

std::optional<std::string_view> shipped_text(std::string_view name) {
  const ShippedText* shipped = find_shipped(name);
  if (shipped == nullptr) return std::nullopt;
  return shipped->text;
}

}  // namespace sbx
