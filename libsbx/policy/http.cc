// SPDX-License-Identifier: Apache-2.0
// The checks that a form cannot say: what a host is covered by, what a credential goes into.
#include "policy/http.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/percent.h"
#include "base/text.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "model/grant.h"
#include "policy/environment.h"

namespace sbx {
namespace {

constexpr std::string_view kSecret = "${secret}";

// By which programs find the bundle.
constexpr auto kTrustVariables =
    std::to_array<const char*>({"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
                                "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"});

Error bad(std::string where, std::string message, std::string hint) {
  return Error{ErrorCode::kBadValue, std::move(message), std::move(where), std::move(hint)};
}

bool covers(const HostRule& allowed, const HostRule& host) {
  // Without a port an entry stands for 80 and 443: one of them is enough.
  if (host.port ? !covers_port(allowed, *host.port)
                : allowed.port && !covers_port(host, *allowed.port)) {
    return false;
  }
  return is_within(host, allowed);
}

// A port of the host's is reached by itself, past every rule.
bool is_host_port(const HostRule& host, const std::vector<int>& ports) {
  const bool is_loopback =
      host.kind == HostRule::Kind::kNetwork
          ? in_network(host.network, ipv4(127, 0, 0, 0), 8) || host.network == *parse_ip("::1")
          : host.name == "localhost";
  return is_loopback &&
         std::any_of(ports.begin(), ports.end(), [&](int port) { return covers_port(host, port); });
}

Status check_host(const HostRule& host, const std::string& where, const NetworkProfile& network) {
  const std::string text = host_rule_text(host);
  if (host.kind != HostRule::Kind::kWildcard && !is_one_host(host)) {
    return bad(where, "not one host: '" + text + "'", "a name, *.NAME or an address");
  }
  if (is_host_port(host, network.host_ports)) {
    return bad(where, "network.host_ports opens " + text + ", and no rule is applied there",
               "take the port out of network.host_ports");
  }
  const bool is_covered = std::any_of(network.allow.begin(), network.allow.end(),
                                      [&](const HostRule& entry) { return covers(entry, host); });
  if (is_covered) return {};
  return bad(where, "network.allow does not cover " + text,
             append_grant("network.allow", json_string(text)));
}

// By its escapes: sbx-http refuses every path that such a pattern could cover (http/target).
bool can_match(std::string_view pattern) {
  for (std::size_t at = 0; (at = pattern.find('%', at)) != std::string_view::npos; ++at) {
    if (!escape_at(pattern, at)) return false;
  }
  const std::string decoded = percent_decoded(pattern);
  const std::vector<std::string_view> parts = split(decoded, '/');
  return is_valid_utf8(decoded) &&
         std::none_of(decoded.begin(), decoded.end(),
                      [](unsigned char c) { return c < ' ' || c == 0x7f || c == '\\'; }) &&
         std::none_of(parts.begin(), parts.end(),
                      [](std::string_view part) { return part == "." || part == ".."; });
}

// Of what sbx-http takes for one of these, too; or has a word of its own to say in.
bool is_forbidden_header(std::string_view text) {
  std::string name = lower_case(text);
  std::replace(name.begin(), name.end(), '_', '-');
  for (const std::string_view each :
       {"host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade",
        "keep-alive", "proxy-connection", "expect", "content-encoding", "http2-settings",
        "accept-encoding", "sec-websocket-extensions"}) {
    if (name == each) return true;
  }
  return false;
}

Status check_place(const Credential& credential, const std::string& where) {
  if (credential.header.has_value() + credential.basic.has_value() + credential.query.has_value() !=
      1) {
    return bad(where, "a credential goes into one of header, basic and query",
               "name exactly one of them");
  }
  if (credential.header && is_forbidden_header(*credential.header)) {
    return bad(where + "/header", *credential.header + " is not for a credential",
               "name the header that the service reads it from, such as Authorization");
  }
  if (credential.basic && (credential.basic->find(':') != std::string::npos ||
                           escape_control_bytes(*credential.basic) != *credential.basic)) {
    return bad(where + "/basic", "a user of basic auth has no ':' and no control characters",
               "name the user alone");
  }
  if (!credential.value) return {};
  const std::string& value = *credential.value;
  const std::size_t at = value.find(kSecret);
  const bool is_plain =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
  // HTTP takes blanks off at both ends.
  if (!credential.header || !is_plain || value.starts_with(' ') || value.ends_with(' ') ||
      at == std::string::npos || value.find("${") != at ||
      value.find("${", at + 1) != std::string::npos) {
    return bad(
        where + "/value", "'" + value + "' is no value of a header",
        "it stands with `header`, begins and ends with no blank, and holds ${secret} once and "
        "no other variable");
  }
  return {};
}

Status check_source(const SecretSource& from, const std::string& where) {
  if (from.env.has_value() + from.file.has_value() + from.command.has_value() != 1 ||
      (from.command && (from.command->empty() || from.command->front().empty())) ||
      (from.ttl_s && !from.command)) {
    return bad(where, "a secret comes from one of env, file and command",
               "name exactly one of them; ttl_s stands with command");
  }
  return {};
}

Status check_name(const std::string& name, const std::string& where, std::set<std::string>& names) {
  const auto is_taken = [&](const auto& list) {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
  };
  static constexpr std::string_view kTaken[] = {"PATH",  "HOME",   "USER", "LOGNAME",
                                                "SHELL", "TMPDIR", "PWD",  "JAVA_TOOL_OPTIONS"};
  if (is_taken(kTaken) || is_taken(kTrustVariables) || is_proxy_name(name) ||
      name.starts_with("SBX_")) {
    return bad(where, name + " is no variable for a credential", "choose another name");
  }
  if (is_never_settable(name)) {
    return bad(where, name + " changes what programs load or run", "choose another name");
  }
  if (names.insert(name).second) return {};
  return bad(where, "two credentials of the name " + name, "each has a variable of its own");
}

}  // namespace

Status check_http(const NetworkProfile& network) {
  if (network.mode != NetworkMode::kAllowlist) {
    for (const bool is_http : {true, false}) {
      if (is_http ? network.http.empty() : network.credentials.empty()) continue;
      return bad(is_http ? "/network/http" : "/network/credentials",
                 "only the mode allowlist has rules and credentials",
                 "set network.mode = \"allowlist\", with the hosts in network.allow");
    }
  }
  for (std::size_t i = 0; i < network.http.size(); ++i) {
    const std::string where = "/network/http/" + std::to_string(i);
    SBX_CHECK_OK(check_host(network.http[i].host, where + "/host", network));
    const std::vector<std::string> none;
    const auto& paths = network.http[i].paths.value_or(none);
    for (std::size_t j = 0; j < paths.size(); ++j) {
      if (can_match(paths[j])) continue;
      return bad(where + "/paths/" + std::to_string(j),
                 "every path that '" + paths[j] + "' could cover is refused",
                 "write it without escapes that are none, of dots or of control characters");
    }
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < network.credentials.size(); ++i) {
    const Credential& credential = network.credentials[i];
    const std::string where = "/network/credentials/" + std::to_string(i);
    SBX_CHECK_OK(check_name(credential.name, where + "/name", names));
    SBX_CHECK_OK(check_host(credential.host, where + "/host", network));
    SBX_CHECK_OK(check_place(credential, where));
    SBX_CHECK_OK(check_source(credential.from, where + "/from"));
  }
  return {};
}

void add_trust(const HttpSession& session, bool shows_store,
               std::map<std::string, std::string, std::less<>>& to) {
  for (const std::string& name : session.dropped) to.erase(name);
  for (const auto& [name, placeholder] : session.placeholders) to[name] = placeholder;
  for (const char* const name : kTrustVariables) to[name] = session.trust_path;
  if (session.java_store.empty() || !shows_store) return;
  std::string& java = to["JAVA_TOOL_OPTIONS"];
  if (!java.empty()) java += ' ';
  java += "-Djavax.net.ssl.trustStore=" + std::string(kJavaStore) +
          " -Djavax.net.ssl.trustStoreType=PKCS12 -Djavax.net.ssl.trustStorePassword=changeit";
}

}  // namespace sbx
