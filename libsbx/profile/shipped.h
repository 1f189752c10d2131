// SPDX-License-Identifier: Apache-2.0
// The profiles that are part of the binary, as JSON text. Written by embed.cmake from profiles/.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace sbx {

struct ShippedText {
  std::string_view name;
  std::string_view text;
  bool is_preset;  // of profiles/presets: small, and laid over another profile
  std::string_view
      roots;  // the paths of a preset's "+roots" as it writes them, each before a line end
};

std::span<const ShippedText> shipped_texts();  // profiles by name, then presets by name
const ShippedText* find_shipped(std::string_view name);
std::optional<std::string_view> shipped_text(std::string_view name);
// The one preset with a root that holds `path`, written as in profiles ("${home}/.cargo/bin");
// empty where none or several have one.
std::string_view preset_for(std::string_view path);

}  // namespace sbx
