// SPDX-License-Identifier: Apache-2.0
// One member of what somebody else wrote.
#pragma once

#include <string>
#include <string_view>

namespace sbx {

// Null where there is none, and of what is no object. Either kind of nlohmann's.
template <typename Json>
const Json& member(const Json& object, std::string_view key) {
  static const Json kNull;
  const auto found = object.find(key);
  return found != object.end() ? *found : kNull;
}

// Empty where there is none, where it is no text, and of what is no object.
template <typename Json>
std::string text_at(const Json& object, const char* key) {
  const Json& found = member(object, key);
  return found.is_string() ? found.template get<std::string>() : std::string();
}

}  // namespace sbx
