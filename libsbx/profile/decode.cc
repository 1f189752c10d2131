// SPDX-License-Identifier: Apache-2.0
// The table, walked both ways.
#include "profile/decode.h"

#include <nlohmann/json.hpp>

#include "json/codec.h"
#include "profile/fields.h"

namespace sbx {
namespace {

// "/data/" and "/data" are one path to everything that compares paths later.
void drop_last_slashes(std::string& path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
}

template <typename Entry>
void settle_list(std::vector<Entry>& entries, const char* pointer) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    drop_last_slashes(entries[i].path);
    entries[i].where = pointer + std::to_string(i);
  }
}

}  // namespace

std::vector<Error> apply_document(const nlohmann::json& document, Profile& profile) {
  profile.name.clear();
  profile.description.clear();
  std::vector<Error> errors;
  decode_object(kProfileSpec, document, &profile, "", errors);
  return errors;
}

void settle(Profile& profile) {
  settle_list(profile.filesystem.roots, "/filesystem/roots/");
  settle_list(profile.filesystem.protect, "/filesystem/protect/");
}

std::string profile_to_json(const Profile& profile, int indent) {
  nlohmann::ordered_json document;
  encode_object(kProfileSpec, &profile, document);
  return document.dump(indent);
}

std::string network_to_json(const NetworkProfile& network) {
  nlohmann::ordered_json document;
  encode_object(kNetworkSpec, &network, document);
  return document.dump();
}

}  // namespace sbx
