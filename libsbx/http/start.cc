// SPDX-License-Identifier: Apache-2.0
// The state is words with their lengths before them: the authority, then for each credential its
// secret, its placeholder, and earlier values behind their number. What follows is of a longer one.
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
#include "json/check.h"
#include "json/codec.h"
#include "json/reader.h"
#include "profile/fields.h"

namespace sbx::http {
namespace {

constexpr std::size_t kMostFile = std::size_t{16} << 20;
constexpr std::size_t kLeastSearched = 6;

Result<std::string> whole(const OwnedFd& file) {
  lseek(file.get(), 0, SEEK_SET);
  return read_up_to(file.get(), kMostFile);
}

Status write_whole(int fd, std::string_view text) {
  return write_all(fd, text) ? Status() : call_failed(ErrorCode::kSetupFailed, "write");
}

Result<NetworkProfile> read_rules(std::string_view text) {
  SBX_TRY(const nlohmann::json document, read_json_strict(text.substr(0, text.find('\0'))));
  std::vector<Error> errors = check_fields(document, kNetworkSpec, "");
  if (!errors.empty()) return errors.front();
  NetworkProfile network;
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

Result<std::string> read_authorities(const std::string& path) {
  Result<std::string> text = read_file(path, kMostBundle);
  if (text.ok()) return text;
  return Error{ErrorCode::kSetupFailed,
               "the trust bundle " + path + " cannot be read: " + text.error().message, "",
               "install ca-certificates, or set SSL_CERT_FILE"};
}

void append_word(std::string& to, const std::string& word) {
  to += std::to_string(word.size()) + "\n" + word;
}

// What is left of the state, word by word.
class StateReader {
 public:
  explicit StateReader(std::string_view state) : rest_(state) {}
  // Errors: kSetupFailed where there is none.
  Result<std::string> word() {
    const std::size_t end = rest_.find('\n');
    const auto size = parse_count(rest_.substr(0, end), INT32_MAX);
    rest_.remove_prefix(std::min(end, rest_.size() - 1) + 1);
    if (!size || static_cast<std::size_t>(*size) > rest_.size()) {
      return Error{ErrorCode::kSetupFailed, "the state is of another policy", "", ""};
    }
    std::string word(rest_.substr(0, static_cast<std::size_t>(*size)));
    rest_.remove_prefix(word.size());
    return word;
  }

 private:
  std::string_view rest_;
};

Status bind_secrets(Started& to, const EnvironmentBlock& environment, StateReader* state) {
  for (std::size_t i = 0; i < to.network.credentials.size(); ++i) {
    const Credential& text = to.network.credentials[i];
    const std::string where = "/network/credentials/" + std::to_string(i) + "/from";
    BoundSecret bound{text, "", ""};
    if (state == nullptr) {
      SBX_TRY(bound.secret, read_secret(text.from, environment, where));
      const std::string whole = text.header ? header_value(text, bound.secret) : "";
      if (whole.starts_with(' ') || whole.ends_with(' ')) {
        return Error{ErrorCode::kBadValue,
                     "the value of " + text.name + " begins or ends with a blank", where,
                     "HTTP takes that off a header: give the secret without it"};
      }
      bound.placeholder = make_placeholder(bound.secret, random_bytes);
    } else {
      SBX_TRY(bound.secret, state->word());
      SBX_TRY(bound.placeholder, state->word());
      SBX_TRY(const std::string count, state->word());
      // As many as there are: the number alone takes no memory.
      for (auto left = parse_count(count, INT32_MAX).value_or(0); left > 0; --left) {
        SBX_TRY(bound.earlier.emplace_back(), state->word());
      }
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

std::vector<HostRule> hosts_of(const Started& started) {
  std::vector<HostRule> hosts;
  for (const HttpRule& rule : started.network.http) {
    hosts.push_back(rule.host);
  }
  for (const BoundSecret& secret : started.secrets) hosts.push_back(secret.text.host);
  return hosts;
}

}  // namespace

Result<Started> start(StartFiles files) {
  Started out;
  SBX_TRY(const std::string rules, whole(files.rules));
  SBX_TRY(out.network, read_rules(rules));
  SBX_TRY(const std::string variables, whole(files.environment));
  const EnvironmentBlock environment = read_environment(variables);
  // What upstream servers are held against: the operator's, where one is named.
  const std::string named(value_of(environment, "SSL_CERT_FILE"));
  SBX_TRY(std::string authorities, read_authorities(named.empty() ? files.trust_path : named));
  const OwnedStore store = read_store(authorities);
  SBX_TRY(const std::string state, whole(files.state));
  if (state.empty()) {
    SBX_CHECK_OK(bind_secrets(out, environment, nullptr));
    SBX_TRY(out.authority, Authority::make(hosts_of(out), store.get()));
    SBX_CHECK_OK(write_state(files.state, *out.authority, out.secrets));
    out.state = std::move(files.state);
  } else {
    SBX_TRY(out, resume(files.rules, std::move(files.state), store.get()));
  }
  out.dropped = variables_with(out.secrets, environment);
  const EnvironmentBlock set =
      read_environment(std::string_view(rules).substr(std::min(rules.find('\0'), rules.size())));
  for (std::string& name : variables_with(out.secrets, set)) out.dropped.push_back(std::move(name));
  out.bundle.reset(memfd_create("trust", MFD_CLOEXEC));
  if (!out.bundle.is_open()) return call_failed(ErrorCode::kSetupFailed, "memfd_create");
  // Programs inside hold what stays opaque against the system's as well.
  if (const auto system = read_authorities(files.trust_path);
      system.ok() && authorities.find(system.value()) == std::string::npos) {
    authorities.insert(0, system.value() + "\n");
  }
  const std::string gap = authorities.ends_with('\n') ? "" : "\n";
  const std::string bundle = authorities + gap + out.authority->certificate();
  out.bundle_size = bundle.size();
  SBX_CHECK_OK(write_whole(out.bundle.get(), bundle + out.authority->java_store(authorities)));
  return out;
}

Result<Started> resume(const OwnedFd& rules, OwnedFd state, X509_STORE* store) {
  Started out;
  SBX_TRY(const std::string document, whole(rules));
  SBX_TRY(out.network, read_rules(document));
  SBX_TRY(const std::string text, whole(state));
  StateReader words(text);
  SBX_TRY(const std::string authority, words.word());
  SBX_CHECK_OK(bind_secrets(out, {}, &words));
  SBX_TRY(out.authority, Authority::from_state(authority, store));
  out.state = std::move(state);
  return out;
}

Status write_state(const OwnedFd& state, const Authority& authority,
                   const std::vector<BoundSecret>& secrets) {
  std::string text;
  append_word(text, authority.state());
  for (const BoundSecret& each : secrets) {
    append_word(text, each.secret);
    append_word(text, each.placeholder);
    append_word(text, std::to_string(each.earlier.size()));
    for (const std::string& earlier : each.earlier) append_word(text, earlier);
  }
  lseek(state.get(), 0, SEEK_SET);
  return write_whole(state.get(), text);
}

}  // namespace sbx::http
