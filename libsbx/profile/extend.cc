// SPDX-License-Identifier: Apache-2.0
// The merge of `extends`. It recurses as deep as the profile's keys go, not as the text does: the
// check has refused anything deeper.
#include "profile/extend.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "profile/json_reader.h"

namespace sbx {
namespace {

using nlohmann::json;

void append(json& list, json&& more, const std::string& where, std::vector<Error>& errors) {
  if (list.is_null()) {
    errors.push_back({.code = ErrorCode::kBadValue,
                      .message = "the parent has no list to append to: null means everything",
                      .where = where,
                      .hint = "write the whole list, without the +"});
    return;
  }
  for (json& item : more) list.push_back(std::move(item));
}

void merge(json& parent, json&& child, const std::string& pointer, std::vector<Error>& errors) {
  for (auto& [key, value] : child.get_ref<json::object_t&>()) {
    std::string where = pointer;
    append_to_pointer(where, key);
    if (key.starts_with('+')) {
      auto [list, made] = parent.emplace(key.substr(1), json::array());
      append(*list, std::move(value), where, errors);
    } else if (const auto at = parent.find(key);
               at != parent.end() && at->is_object() && value.is_object()) {
      merge(*at, std::move(value), where, errors);
    } else {
      parent[key] = std::move(value);
    }
  }
}

}  // namespace

std::vector<Error> extend_document(json& parent, json child) {
  for (const char* own : {"$schema", "name", "description", "extends"}) parent.erase(own);
  std::vector<Error> errors;
  merge(parent, std::move(child), "", errors);
  return errors;
}

}  // namespace sbx
