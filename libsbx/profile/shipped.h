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
};

std::span<const ShippedText> shipped_texts();  // by name
std::optional<std::string_view> shipped_text(std::string_view name);

}  // namespace sbx
