// SPDX-License-Identifier: Apache-2.0
// Runs what default_profile.cmake made of the document: names become enumerators, as in fields.cc.
#include "profile/default_profile.h"

#include <algorithm>

#include "profile/decode.h"
#include "profile/fields.h"

namespace sbx {
namespace {

template <typename E>
E named(std::string_view name) {
  const auto& names = kNames<E>;
  return static_cast<E>(std::find(names.begin(), names.end(), name) - names.begin());
}

void set(std::string& to, std::string_view text) { to = text; }
template <typename E>
requires std::is_enum_v<E>
void set(E& to, std::string_view name) { to = named<E>(name); }

void add(std::vector<std::string>& to, std::string_view text) { to.emplace_back(text); }
void add(LayerSet& to, std::string_view name) { to.add(named<Layer>(name)); }

}  // namespace

Profile default_profile(std::string& parent) {
  Profile profile;
#include "default_profile.inc"
  settle(profile);
  return profile;
}

Profile default_profile() {
  std::string parent;
  return default_profile(parent);
}

}  // namespace sbx
