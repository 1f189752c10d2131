// SPDX-License-Identifier: Apache-2.0
// The grammar of `network.allow`. forms.cc holds the same grammar as a pattern for the schema.
#include "profile/host_rule.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"

namespace sbx {
namespace {

bool is_word(char c) { return is_alphanumeric(c) || c == '_'; }

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

std::optional<HostRule> parse_network(std::string_view text, bool is_v6) {
  const std::size_t slash = text.find('/');
  const std::string_view address = text.substr(0, slash);
  // One family has colons only, the other one points.
  if (address.find(is_v6 ? '.' : ':') != std::string_view::npos) return std::nullopt;
  const auto network = parse_ip(address);
  if (!network) return std::nullopt;
  HostRule rule{.kind = HostRule::Kind::kNetwork,
                .name = {},
                .network = *network,
                .prefix = is_v6 ? 128 : 32,
                .port = {}};
  if (slash != std::string_view::npos) {
    const auto prefix = plain_count(text.substr(slash + 1), rule.prefix);
    if (!prefix) return std::nullopt;
    rule.prefix = *prefix;
  }
  // IPv4 addresses, spelled as IPv6 ones.
  if (is_v6 && !network->is_v6) rule.prefix -= 96;
  if (rule.prefix < 0) return std::nullopt;
  return rule;
}

std::optional<HostRule> parse_name(std::string_view text) {
  HostRule rule;
  if (text.starts_with("*.")) {
    rule.kind = HostRule::Kind::kWildcard;
    text.remove_prefix(2);
  }
  if (!is_name(text)) return std::nullopt;
  rule.name = text;
  for (char& c : rule.name) {
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return rule;
}

std::optional<HostRule> parse_host(std::string_view text) {
  if (auto rule = parse_network(text, false)) return rule;
  return parse_name(text);
}

std::optional<HostRule> with_port(std::optional<HostRule> rule, std::string_view text) {
  const auto port = plain_count(text, 65535);
  if (!rule || !port || *port == 0) return std::nullopt;
  rule->port = static_cast<std::uint16_t>(*port);
  return rule;
}

bool is_name_below(std::string_view name, const HostRule& wildcard) {
  return name.ends_with("." + wildcard.name);
}

}  // namespace

std::optional<HostRule> parse_host_rule(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    auto rule = parse_network(text.substr(1, end - 1), true);
    const std::string_view rest = text.substr(end + 1);
    if (rest.empty()) return rule;
    if (rest.front() != ':') return std::nullopt;
    return with_port(std::move(rule), rest.substr(1));
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return parse_host(text);
  if (text.find(':', colon + 1) != std::string_view::npos) {
    return parse_network(text, true);
  }
  return with_port(parse_host(text.substr(0, colon)), text.substr(colon + 1));
}

bool is_one_host(const HostRule& rule) {
  if (rule.kind != HostRule::Kind::kNetwork) return rule.kind == HostRule::Kind::kName;
  return rule.prefix == (rule.network.is_v6 ? 128 : 32);
}

std::vector<std::uint16_t> ports_of(const HostRule& rule) {
  if (rule.port) return {*rule.port};
  return {80, 443};
}

bool covers_port(const HostRule& rule, int port) {
  return rule.port ? *rule.port == port : port == 80 || port == 443;
}

bool covers_name(const HostRule& rule, std::string_view name) {
  if (rule.kind == HostRule::Kind::kName) return name == rule.name;
  if (rule.kind == HostRule::Kind::kWildcard) return is_name_below(name, rule);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  const auto address = parse_ip(name);
  return address && in_network(*address, rule.network, rule.prefix);
}

bool covers_host(const HostRule& rule, std::string_view name, int port) {
  return covers_port(rule, port) && covers_name(rule, name);
}

bool is_within(const HostRule& rule, const HostRule& wide) {
  if (wide.kind == HostRule::Kind::kWildcard && is_name_below(rule.name, wide)) return true;
  if (rule.kind != wide.kind) return false;
  if (rule.kind != HostRule::Kind::kNetwork) return rule.name == wide.name;
  return rule.prefix >= wide.prefix && in_network(rule.network, wide.network, wide.prefix);
}

std::string host_rule_text(const HostRule& rule) {
  std::string text = rule.name;
  if (rule.kind == HostRule::Kind::kWildcard) text = "*." + text;
  if (rule.kind == HostRule::Kind::kNetwork) {
    text = ip_text(rule.network);
    const bool is_one = rule.prefix == (rule.network.is_v6 ? 128 : 32);
    if (!is_one) text += "/" + std::to_string(rule.prefix);
    if (rule.network.is_v6 && rule.port) text = "[" + text + "]";
  }
  return rule.port ? text + ":" + std::to_string(*rule.port) : text;
}

}  // namespace sbx
