// SPDX-License-Identifier: Apache-2.0
// What of HTTP a policy holds: network.http and network.credentials checked against the rest, and
// what a session's sbx-http has made ready of them. Values only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/host_rule.h"
#include "profile/profile.h"

namespace sbx {

// Errors: kBadValue, with the pointer of the entry.
Status check_http(const NetworkProfile& network);

// Of one session, from its start on.
struct HttpSession {
  virtual ~HttpSession() = default;
  std::map<std::string, std::string> placeholders;  // variable → what stands for the secret
  std::vector<std::string> dropped;  // other variables, inherited or set, that hold a secret
  std::string trust_path;            // of the system's bundle, without symlinks
  std::string trust_bundle;          // the system's and the session's own, PEM
  std::string java_store;            // the same as PKCS#12; shown at kJavaStore
};

inline constexpr std::string_view kJavaStore = "/run/sbx/cacerts.p12";

// The variables by which programs find the bundle, and Java its store where that is shown.
void add_trust(const HttpSession& session, bool shows_store,
               std::map<std::string, std::string, std::less<>>& to);

}  // namespace sbx
