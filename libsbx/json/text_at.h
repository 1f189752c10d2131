// SPDX-License-Identifier: Apache-2.0
// One member of what somebody else wrote.
#pragma once

#include <string>

namespace sbx {

// Empty where there is none, where it is no text, and of what is no object. Either kind of
// nlohmann's.
template <typename Json>
std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->template get<std::string>()
                                                     : std::string();
}

}  // namespace sbx
