// SPDX-License-Identifier: Apache-2.0
// By hand, since where a password ends depends on what follows it: the last @ that a host follows.
#include "output/url_password.h"

#include <algorithm>

#include "base/ascii.h"

namespace sbx {
namespace {

constexpr std::size_t kLongest = 1024;  // of user and password
constexpr std::size_t kNone = std::string_view::npos;

// Past "://" and to the end of what may be the URL. A quote ends it only where one began it: a
// password may hold the other.
std::string_view url_after_scheme(std::string_view line, std::size_t at) {
  std::size_t scheme = at;
  while (scheme > 0 && (is_alphanumeric(line[scheme - 1]) || line[scheme - 1] == '+')) --scheme;
  const char before = scheme > 0 ? line[scheme - 1] : '\0';
  const bool in_single = before == '\'';
  const std::string_view rest = line.substr(at + 4, kLongest);
  std::size_t end = 0;
  for (; end < rest.size(); ++end) {
    const char c = rest[end];
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '`' || c == '<' || c == '>') break;
    if (c == '\'' && (in_single || end + 1 == rest.size() || !is_alphanumeric(rest[end + 1])))
      break;
  }
  return rest.substr(0, end);
}

bool starts_host(std::string_view url, std::size_t at) {
  return at < url.size() &&
         (is_alphanumeric(url[at]) || std::string_view("[._%-").find(url[at]) != kNone ||
          static_cast<unsigned char>(url[at]) >= 0x80);
}

// host.name, host:5432, host/, [::1]: a host rather than what follows an @ of a password.
bool is_plain_host(std::string_view host) {
  return host.find('.') != kNone || host.find(':') != kNone || host.starts_with("localhost");
}

bool is_port(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits > 0 && digits <= 5 &&
         (digits == text.size() || std::string_view("/?#,;)]}\\|&:").find(text[digits]) != kNone);
}

// ${NAME}, {name}, %s, $NAME, [password], <…>, ****: nothing that could leak.
bool is_placeholder(std::string_view password) {
  const auto all = [password](auto test) {
    return std::all_of(password.begin() + 1, password.end(), test);
  };
  const char c = password.front();
  if (c == '$') {
    return password.size() > 1 && (password[1] == '{' || password[1] == '(' ||
                                   all([](char p) { return is_alphanumeric(p) || p == '_'; }));
  }
  if (c == '{' || c == '[' || c == '(') return true;
  if (c == '%') return password.size() == 2 || password.back() == '%' || password[1] == '(';
  if (c == '#') return password.starts_with("#{");
  const bool is_mask =
      password.find_first_not_of(c) == kNone && (password.size() > 1 || !is_alphanumeric(c));
  return password.starts_with("[REDACTED]") || is_mask || password.find("...") != kNone;
}

// The last @ of url[from, end) that a host follows.
std::size_t last_at_sign(std::string_view url, std::size_t end) {
  for (std::size_t at = end; at-- > 0;) {
    if (url[at] == '@' && starts_host(url, at + 1)) return at;
  }
  return kNone;
}

// A password with / ? or #: the @ behind them, the first that a host follows.
std::size_t at_sign_behind(std::string_view url, std::size_t from) {
  for (std::size_t at = url.find('@', from); at != kNone; at = url.find('@', at + 1)) {
    if (starts_host(url, at + 1)) return at;
  }
  return kNone;
}

}  // namespace

std::optional<UrlPassword> find_url_password(std::string_view line, std::size_t at) {
  if (at == 0 || !(is_alphanumeric(line[at - 1]) || line[at - 1] == '+')) return std::nullopt;
  const std::string_view url = url_after_scheme(line, at);
  const std::size_t authority = std::min(url.find_first_of("/?#"), url.size());
  std::size_t colon = url.substr(0, authority).find(':');
  if (const std::size_t open = url.find("${"); open < colon) {
    colon = url.substr(0, authority).find(':', url.find('}', open));  // ${USER:-x}:…
  }
  if (colon == kNone) return std::nullopt;
  std::size_t end = last_at_sign(url, authority);
  std::size_t begin = colon + 1;
  if (end != kNone && colon < end) {
    // `pa@s/s@host`: what follows the first @ is hardly a host, and another comes.
    const std::size_t host_end = std::min(url.find_first_of("/?#", end), url.size());
    const std::size_t further = last_at_sign(url, std::min(url.find('?'), url.size()));
    if (further != kNone && further > host_end &&
        !is_plain_host(url.substr(end + 1, host_end - end - 1)) &&
        is_plain_host(url.substr(further + 1, url.find('/', further) - further - 1))) {
      end = further;
    }
  } else if (end != kNone) {
    return std::nullopt;  // user@host:port
  } else {
    const std::string_view rest = url.substr(begin);
    if (rest.empty() || rest.front() == '/' || url.starts_with('[') || is_port(rest)) {
      return std::nullopt;
    }
    end = at_sign_behind(url, authority);
    if (end == kNone) return std::nullopt;
  }
  if (begin >= end) return std::nullopt;
  const std::string_view password = url.substr(begin, end - begin);
  const std::size_t inner = password.find('@');
  if (is_port(password) && inner == kNone && password.find_first_not_of("0123456789") != kNone) {
    return std::nullopt;  // host:8080,other@…
  }
  if (is_placeholder(password)) return std::nullopt;
  const auto offset = static_cast<std::size_t>(url.data() - line.data());
  return UrlPassword{offset + begin, offset + end};
}

}  // namespace sbx
