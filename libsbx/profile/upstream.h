// SPDX-License-Identifier: Apache-2.0
// The URL of an HTTP proxy that connections outside go through → its parts. Pure; resolves nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/host_rule.h"

namespace sbx {

struct Upstream {
  HostRule host;  // a name or one address
  std::uint16_t port = 80;
  std::string authorization;  // for Proxy-Authorization: Basic; empty: none
};

// "http://proxy.example:3128", "http://user:password@[2001:db8::1]:3128/"; user and password may be
// percent-encoded. Errors: kBadFlag, said of `where`, without the URL, which may hold a password.
Result<Upstream> parse_upstream(std::string_view url, const std::string& where);

// A URL without its user and password; any other text as it is.
std::string without_user(std::string_view url);

}  // namespace sbx
