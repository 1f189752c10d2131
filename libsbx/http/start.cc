// SPDX-License-Identifier: Apache-2.0
// The state is words with their lengths before them: the authority, then a secret and its
// placeholder for each credential.
#include "http/start.h"

#include <openssl/rand.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "http/sources.h"
#include "json/codec.h"
#include "json/reader.h"
#include "profile/fields.h"

namespace sbx::http {
namespace {

constexpr std::size_t kMostFile = std::size_t{16} << 20;
constexpr std::size_t kMostBundle = std::size_t{8} << 20;
constexpr std::size_t kLeastSearched = 6;

Error failed(const char* call) {
  return Error{ErrorCode::kSetupFailed, std::string(call) + ": " + errno_text(errno), "", "",
               errno};
}

Result<std::string> whole(const OwnedFd& file) {
  lseek(file.get(), 0, SEEK_SET);
  return read_up_to(file.get(), kMostFile);
}

Status write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count <= 0) return failed("write");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<NetworkProfile> read_rules(std::string_view text) {
  SBX_TRY(const nlohmann::json document, read_json_strict(text.substr(0, text.find('\0'))));
  NetworkProfile network;
  std::vector<Error> errors;
  decode_object(kNetworkSpec, document, &network, "", errors);
  if (!errors.empty()) return errors.front();
  return network;
}

EnvironmentBlock read_environment(std::string_view text) {
  EnvironmentBlock block;
  for (const std::string_view entry : split(text, '\0')) {
    if (!entry.empty()) block.emplace_back(entry);
  }
  return block;
}

void random_bytes(unsigned char* to, std::size_t size) {
  if (RAND_bytes(to, static_cast<int>(size)) != 1) _exit(1);
}

// What upstream servers are held against: the operator's, where one is named.
Result<std::string> read_authorities(const EnvironmentBlock& environment,
                                     const std::string& trust_path) {
  const std::string named(value_of(environment, "SSL_CERT_FILE"));
  const std::string& path = named.empty() ? trust_path : named;
  Result<std::string> text = read_file(path, kMostBundle);
  if (text.ok()) return text;
  return Error{ErrorCode::kSetupFailed,
               "the trust bundle " + path + " cannot be read: " + text.error().message, "",
               "install ca-certificates, or set SSL_CERT_FILE"};
}

void append_word(std::string& to, const std::string& word) {
  to += std::to_string(word.size()) + "\n" + word;
}

// Empty where there is none.
std::vector<std::string> words_of(std::string_view state) {
  std::vector<std::string> words;
  while (!state.empty()) {
    const std::size_t end = state.find('\n');
    const auto size = parse_count(state.substr(0, end), INT32_MAX);
    if (end == std::string_view::npos || !size) return {};
    state.remove_prefix(end + 1);
    if (static_cast<std::size_t>(*size) > state.size()) return {};
    words.emplace_back(state.substr(0, static_cast<std::size_t>(*size)));
    state.remove_prefix(static_cast<std::size_t>(*size));
  }
  return words;
}

Status bind_secrets(Started& to, const EnvironmentBlock& environment,
                    const std::vector<std::string>& state) {
  for (std::size_t i = 0; i < to.network.credentials.size(); ++i) {
    const Credential& text = to.network.credentials[i];
    const std::string where = "/network/credentials/" + std::to_string(i) + "/from";
    auto host = parse_host_rule(text.host);
    if (!host) return Error{ErrorCode::kBadValue, "not a host: " + text.host, where, ""};
    BoundSecret bound{text, std::move(*host), "", ""};
    if (state.empty()) {
      SBX_TRY(bound.secret, read_secret(text.from, environment, where));
      bound.placeholder = make_placeholder(bound.secret, random_bytes);
    } else {
      bound.secret = state[1 + 2 * i];
      bound.placeholder = state[2 + 2 * i];
    }
    to.secrets.push_back(std::move(bound));
  }
  return {};
}

// The same value under another name, or in the middle of one.
std::vector<std::string> variables_with(const std::vector<BoundSecret>& secrets,
                                        const EnvironmentBlock& variables) {
  std::vector<std::string> names;
  for (const std::string& entry : variables) {
    const std::size_t equals = entry.find('=');
    const std::string_view value = std::string_view(entry).substr(equals + 1);
    const bool holds = std::any_of(secrets.begin(), secrets.end(), [&](const BoundSecret& each) {
      return value == each.secret || (each.secret.size() >= kLeastSearched &&
                                      value.find(each.secret) != std::string_view::npos);
    });
    if (holds) names.push_back(entry.substr(0, equals));
  }
  return names;
}

std::vector<HostRule> hosts_of(const NetworkProfile& network) {
  std::vector<HostRule> hosts;
  for (const HttpRule& rule : network.http) {
    if (auto host = parse_host_rule(rule.host)) hosts.push_back(std::move(*host));
  }
  for (const Credential& credential : network.credentials) {
    if (auto host = parse_host_rule(credential.host)) hosts.push_back(std::move(*host));
  }
  return hosts;
}

}  // namespace

Result<Started> start(const StartFiles& files) {
  Started out;
  SBX_TRY(const std::string rules, whole(files.rules));
  SBX_TRY(out.network, read_rules(rules));
  SBX_TRY(const std::string variables, whole(files.environment));
  const EnvironmentBlock environment = read_environment(variables);
  SBX_TRY(const std::string authorities, read_authorities(environment, files.trust_path));
  const OwnedStore store = read_store(authorities);
  SBX_TRY(const std::string state, whole(files.state));
  if (state.empty()) {
    SBX_CHECK_OK(bind_secrets(out, environment, {}));
    SBX_TRY(out.authority, Authority::make(hosts_of(out.network), store.get()));
    std::string made;
    append_word(made, out.authority->state());
    for (const BoundSecret& each : out.secrets) {
      append_word(made, each.secret);
      append_word(made, each.placeholder);
    }
    SBX_CHECK_OK(write_whole(files.state.get(), made));
  } else {
    SBX_TRY(out, resume(files.rules, files.state, store.get()));
  }
  out.dropped = variables_with(out.secrets, environment);
  const EnvironmentBlock set =
      read_environment(std::string_view(rules).substr(std::min(rules.find('\0'), rules.size())));
  for (std::string& name : variables_with(out.secrets, set)) out.dropped.push_back(std::move(name));
  out.bundle.reset(memfd_create("trust", MFD_CLOEXEC));
  if (!out.bundle.is_open()) return failed("memfd_create");
  const std::string gap = authorities.ends_with('\n') ? "" : "\n";
  const std::string bundle = authorities + gap + out.authority->certificate();
  out.bundle_size = bundle.size();
  SBX_CHECK_OK(write_whole(out.bundle.get(), bundle + out.authority->java_store(authorities)));
  return out;
}

Result<Started> resume(const OwnedFd& rules, const OwnedFd& state, X509_STORE* store) {
  Started out;
  SBX_TRY(const std::string document, whole(rules));
  SBX_TRY(out.network, read_rules(document));
  SBX_TRY(const std::string text, whole(state));
  const std::vector<std::string> words = words_of(text);
  if (words.size() != 1 + 2 * out.network.credentials.size()) {
    return Error{ErrorCode::kSetupFailed, "the state is of another policy", "", ""};
  }
  SBX_CHECK_OK(bind_secrets(out, {}, words));
  SBX_TRY(out.authority, Authority::from_state(words[0], store));
  return out;
}

}  // namespace sbx::http
