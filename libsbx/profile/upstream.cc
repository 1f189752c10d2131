// SPDX-License-Identifier: Apache-2.0
// What stands between "://" and the path (RFC 3986, 3.2).
#include "profile/upstream.h"

#include <algorithm>
#include <optional>

#include "base/percent.h"
#include "json/base64.h"

namespace sbx {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::string_view kMark = "://";

// nullopt for a bad escape and for control characters.
std::optional<std::string> decoded(std::string_view text) {
  for (std::size_t at = 0; (at = text.find('%', at)) != std::string_view::npos; ++at) {
    if (!escape_at(text, at)) return std::nullopt;
  }
  std::string out = percent_decoded(text);
  const bool has_control = std::any_of(out.begin(), out.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (has_control) return std::nullopt;
  return out;
}

// Of what stands from `begin` on: the "@" behind user and password; `begin` where there is none.
std::size_t end_of_user(std::string_view url, std::size_t begin, Urls kind = Urls::kAlone) {
  const char* const ends = kind == Urls::kInText ? "/?# \t\r\n\"'`<>" : "/?#";
  const std::size_t end = std::min(url.find_first_of(ends, begin), url.size());
  const std::size_t at = url.substr(begin, end - begin).rfind('@');
  return at == std::string_view::npos ? begin : begin + at;
}

}  // namespace

Result<Upstream> parse_upstream(std::string_view url, const std::string& where) {
  const auto bad = [&where](const std::string& why) {
    return Error{ErrorCode::kBadFlag, "bad value for " + where + ": " + why, where,
                 "write http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT"};
  };
  if (!url.starts_with(kScheme)) return bad("it is no http:// URL");
  constexpr std::size_t begin = kScheme.size();
  const std::size_t at = end_of_user(url, begin);
  std::string_view rest = url.substr(begin);
  Upstream out;
  if (at != begin) {
    const std::string_view user = url.substr(begin, at - begin);
    const std::size_t colon = std::min(user.find(':'), user.size());
    const auto name = decoded(user.substr(0, colon));
    const auto password = decoded(user.substr(std::min(colon + 1, user.size())));
    if (!name || !password) return bad("a bad escape in its user or password");
    out.authorization = base64_encode(*name + ":" + *password);
    rest = url.substr(at + 1);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const bool is_network = rest.find('/') != std::string_view::npos;
  const std::optional<HostRule> host = is_network ? std::nullopt : parse_host_rule(rest);
  if (!host || host->kind == HostRule::Kind::kWildcard) return bad("it names no host");
  out.host = *host;
  out.port = host->port.value_or(80);
  return out;
}

std::string without_users(std::string_view urls, Urls kind) {
  const bool of_proxy = kind == Urls::kOfProxy;
  std::string out(urls);
  const auto drop = [&](std::size_t begin, bool is_secret) {
    const std::size_t at = end_of_user(out, begin, kind);
    is_secret = is_secret || out.substr(begin, at - begin).find(':') != std::string::npos;
    if (at != begin && is_secret) out.erase(begin, at + 1 - begin);
  };
  std::size_t mark = out.find(kMark);
  if (mark == std::string::npos && of_proxy) drop(0, false);
  for (; mark != std::string::npos; mark = out.find(kMark, mark + kMark.size())) {
    const std::string_view before = std::string_view(out).substr(0, mark);
    const bool is_web = before.ends_with("http") || before.ends_with("https");
    drop(mark + kMark.size(), of_proxy || is_web);
  }
  return out;
}

}  // namespace sbx
