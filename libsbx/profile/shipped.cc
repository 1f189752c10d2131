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

std::string_view preset_for(std::string_view path) {
  std::string_view only;
  for (const ShippedText& shipped : kShipped) {
    bool shows = false;
    for (std::string_view rest = shipped.roots; !rest.empty() && !shows;) {
      const std::string_view root = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(root.size() + 1);
      shows = path == root || (path.starts_with(root) && path[root.size()] == '/');
    }
    if (!shows) continue;
    if (!only.empty()) return "";
    only = shipped.name;
  }
  return only;
}

}  // namespace sbx
