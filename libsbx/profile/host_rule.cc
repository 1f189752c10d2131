// SPDX-License-Identifier: Apache-2.0
// The grammar of `network.allow`. forms.cc holds the same grammar as a pattern for the schema.
#include "profile/host_rule.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace sbx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// A decimal count without leading zeros.
std::optional<int> plain_count(std::string_view text, int max) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  const auto count = parse_count(text, max);
  if (!count) return std::nullopt;
  return static_cast<int>(*count);
}

bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= 63 && is_word(label.front()) && is_word(label.back()) &&
         std::all_of(label.begin(), label.end(), [](char c) { return is_word(c) || c == '-'; });
}

// RFC 1123 labels and underscores; a last label of digits only is a mistyped address.
bool is_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  const auto labels = split(name, '.');
  return std::all_of(labels.begin(), labels.end(), is_label) &&
         !std::all_of(labels.back().begin(), labels.back().end(), is_digit);
}

bool is_address(HostRule::Kind kind, const std::string& text) {
  if (text.find('\0') != std::string::npos) return false;
  in6_addr address{};
  if (kind == HostRule::Kind::kIpv4) return inet_pton(AF_INET, text.c_str(), &address) == 1;
  return text.find('.') == std::string::npos && inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

std::optional<HostRule> parse_address(HostRule::Kind kind, std::string_view text) {
  const int bits = kind == HostRule::Kind::kIpv4 ? 32 : 128;
  const std::size_t slash = text.find('/');
  HostRule rule{
      .kind = kind, .host = std::string(text.substr(0, slash)), .prefix = bits, .port = {}};
  if (!is_address(kind, rule.host)) return std::nullopt;
  if (slash == std::string_view::npos) return rule;
  const auto prefix = plain_count(text.substr(slash + 1), bits);
  if (!prefix) return std::nullopt;
  rule.prefix = *prefix;
  return rule;
}

std::optional<HostRule> parse_name(std::string_view text) {
  HostRule rule;
  if (text.starts_with("*.")) {
    rule.kind = HostRule::Kind::kWildcard;
    text.remove_prefix(2);
  }
  if (!is_name(text)) return std::nullopt;
  rule.host = text;
  for (char& c : rule.host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return rule;
}

std::optional<HostRule> parse_host(std::string_view text) {
  if (auto rule = parse_address(HostRule::Kind::kIpv4, text)) return rule;
  return parse_name(text);
}

std::optional<HostRule> with_port(std::optional<HostRule> rule, std::string_view text) {
  const auto port = plain_count(text, 65535);
  if (!rule || !port || *port == 0) return std::nullopt;
  rule->port = *port;
  return rule;
}

}  // namespace

std::optional<HostRule> parse_host_rule(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    auto rule = parse_address(HostRule::Kind::kIpv6, text.substr(1, end - 1));
    const std::string_view rest = text.substr(end + 1);
    if (rest.empty()) return rule;
    if (rest.front() != ':') return std::nullopt;
    return with_port(std::move(rule), rest.substr(1));
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return parse_host(text);
  if (text.find(':', colon + 1) != std::string_view::npos) {
    return parse_address(HostRule::Kind::kIpv6, text);
  }
  return with_port(parse_host(text.substr(0, colon)), text.substr(colon + 1));
}

}  // namespace sbx
