// SPDX-License-Identifier: Apache-2.0
// One pass over what nlohmann_json prints.
#include "tools/json_text.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/hex.h"

namespace sbx {

using nlohmann::ordered_json;

// nlohmann_json escapes C0 only. DEL and C1 would move a terminal's cursor, and U+2028 and U+2029
// end a line for some readers; all of them can stand in strings only.
std::string json_text(const ordered_json& value) {
  const std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const std::string_view three = std::string_view(text).substr(i, 3);
    if (byte == 0x7f) {
      out += "\\u007f";
    } else if (byte == 0xc2 && next < 0xa0) {
      out += "\\u00";
      append_hex(out, next);
      i += 1;
    } else if (three == "\xe2\x80\xa8" || three == "\xe2\x80\xa9") {
      out += three.back() == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace sbx
