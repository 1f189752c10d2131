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

enum class Urls : std::uint8_t {
  kInText,   // a blank, a quotation mark or a bracket ends one
  kAlone,    // a text that holds nothing else
  kOfProxy,  // nothing else, and the scheme may lack
};

// A text with URLs without their users and passwords. A user alone is no secret, and may be needed
// (ssh://git@…), unless it may be a token: of http and https, and of a proxy.
std::string without_users(std::string_view urls, Urls kind);

}  // namespace sbx
