// SPDX-License-Identifier: Apache-2.0
// The table of shipped profiles.
#include "profile/shipped.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

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
    if (!shipped.is_preset) continue;
    const nlohmann::json document = nlohmann::json::parse(shipped.text);
    const auto filesystem = document.find("filesystem");
    if (filesystem == document.end() || !filesystem->contains("+roots")) continue;
    const auto& roots = filesystem->at("+roots");
    const bool shows = std::any_of(roots.begin(), roots.end(), [&](const nlohmann::json& root) {
      const auto& shown = root.at("path").get_ref<const std::string&>();
      return path == shown || (path.starts_with(shown) && path[shown.size()] == '/');
    });
    if (!shows) continue;
    if (!only.empty()) return "";
    only = shipped.name;
  }
  return only;
}

}  // namespace sbx
