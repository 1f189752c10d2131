// SPDX-License-Identifier: Apache-2.0
// Known methods only: another protocol's first word is not held back.
#include "gateway/plain_http.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace sbx {
namespace {

constexpr auto kMethods = std::to_array<std::string_view>(
    {"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "PATCH ", "OPTIONS ", "TRACE ", "CONNECT "});

std::string host_of(std::string_view authority) {
  const std::size_t first = authority.find_first_not_of(" \t");
  authority.remove_prefix(std::min(first, authority.size()));
  if (!authority.starts_with('['))
    authority = authority.substr(0, authority.find_first_of(": \t\r"));
  std::string host = lower_case(authority);
  if (host.ends_with('.')) host.pop_back();
  return host;
}

}  // namespace

PlainHttp read_plain_http(std::string_view bytes) {
  const auto begins = [&](std::string_view method) {
    return bytes.substr(0, method.size()) == method.substr(0, bytes.size());
  };
  const auto method = std::find_if(kMethods.begin(), kMethods.end(), begins);
  if (method == kMethods.end()) return {PlainHttp::State::kOther, {}};
  if (bytes.size() < method->size()) return {PlainHttp::State::kBeginning, {}};
  std::size_t at = bytes.find('\n');
  if (at == std::string_view::npos) return {PlainHttp::State::kReading, {}};
  const std::string_view request = bytes.substr(0, at);
  if (request.find(" HTTP/1.") == std::string_view::npos) return {PlainHttp::State::kOther, {}};
  // An absolute form is what a server goes by, before the header.
  const std::string_view target = request.substr(method->size());
  if (lower_case(target.substr(0, 7)) == "http://") {
    return {PlainHttp::State::kHost, host_of(target.substr(7, target.find_first_of("/? ", 7) - 7))};
  }
  for (;;) {
    const std::string_view rest = bytes.substr(at + 1);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {PlainHttp::State::kReading, {}};
    const std::string_view line = rest.substr(0, end);
    if (line.empty() || line == "\r") return {PlainHttp::State::kHost, {}};
    if (lower_case(line.substr(0, 5)) == "host:") {
      return {PlainHttp::State::kHost, host_of(line.substr(5))};
    }
    at += end + 1;
  }
}

}  // namespace sbx
