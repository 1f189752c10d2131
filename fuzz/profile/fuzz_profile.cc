// SPDX-License-Identifier: Apache-2.0
// Any bytes → the profile decoder. What it accepts must print, and decode again to the same; what
// it refuses must come with errors that print as JSON. Files are never read: a document with
// `extends` is only read and checked.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "json/check.h"
#include "json/reader.h"
#include "profile/decode.h"
#include "profile/fields.h"
#include "profile/store.h"
#include "support/decode_profile.h"

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void decode_and_print_again(std::string_view text) {
  const auto document = sbx::read_json_strict(text);
  must(document.ok());
  const std::string printed = sbx::profile_to_json(sbx::decode_profile(document.value()));
  const auto again = sbx::read_json_strict(printed);
  must(again.ok());
  if (document.value().contains("name")) {
    must(sbx::check_fields(again.value(), sbx::kProfileSpec, "").empty());
  }
  must(sbx::profile_to_json(sbx::decode_profile(again.value())) == printed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto document = sbx::read_json_strict(text);
  if (!document.ok()) {
    must(!sbx::validation_json({document.error()}).empty());
    return 0;
  }
  const auto errors = sbx::check_fields(document.value(), sbx::kProfileSpec, "");
  must(!sbx::validation_json(errors).empty());
  if (!errors.empty()) return 0;
  decode_and_print_again(text);
  if (!document.value().contains("extends")) {
    const auto all = sbx::validate_profile_text(text, "fuzz.json", {});
    must(all.empty() || all.front().code == sbx::ErrorCode::kBadValue);  // "+allow" to null
  }
  return 0;
}
