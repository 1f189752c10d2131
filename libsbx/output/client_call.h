// SPDX-License-Identifier: Apache-2.0
// Keys that only their place in a call tells: algolia(id, "0f9e…"), new Twilio.Client(sid, '…'),
// require("mailgun")("…"), stripe = connect("…"). Values only.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace sbx {

struct ClientKey {
  std::size_t begin;  // in the line
  std::size_t end;
};

// The string arguments that look like keys of a call which the name around line[at] makes, or that
// is assigned to it.
std::vector<ClientKey> find_client_keys(std::string_view line, std::size_t at);

}  // namespace sbx
