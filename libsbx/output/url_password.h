// SPDX-License-Identifier: Apache-2.0
// The password of a URL or connection string with user information: all of it, also where it holds
// what a URL should have escaped (@ / ? #), and of each host where several are listed. Values only.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sbx {

struct UrlPassword {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The password of the URL whose "://" follows line[at]; nullopt where it has none, or a reference
// such as ${PASSWORD} in its place.
std::optional<UrlPassword> find_url_password(std::string_view line, std::size_t at);

}  // namespace sbx
