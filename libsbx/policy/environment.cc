// SPDX-License-Identifier: Apache-2.0
// The scrub modes as tables, and their order.
#include "policy/environment.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "policy/http.h"
#include "profile/upstream.h"

namespace sbx {
namespace {

// A bit for each letter that occurs, and for the underscore: most names differ in theirs, and few
// hold all of a secret's.
constexpr std::uint32_t letters_of(std::string_view text) {
  std::uint32_t letters = 0;
  for (const char c : text) letters |= std::uint32_t{1} << (static_cast<unsigned char>(c) % 32);
  return letters;
}

struct Word {
  // NOLINTNEXTLINE(google-explicit-constructor): so that a table is a list of words
  constexpr Word(const char* word) : Word(std::string_view(word)) {}
  constexpr explicit Word(std::string_view word) : text(word), letters(letters_of(word)) {}

  std::string_view text;
  std::uint32_t letters;
};

constexpr std::array<Word, 13> kSafeNames = {"PATH",    "HOME",     "USER",  "LOGNAME",   "SHELL",
                                             "LANG",    "LANGUAGE", "TERM",  "COLORTERM", "TZ",
                                             "COLUMNS", "LINES",    "TMPDIR"};
constexpr std::array<Word, 23> kSessionHandles = {"SSH_AUTH_SOCK",
                                                  "SSH_AGENT_PID",
                                                  "SSH_CONNECTION",
                                                  "SSH_CLIENT",
                                                  "SSH_TTY",
                                                  "GPG_AGENT_INFO",
                                                  "DBUS_SESSION_BUS_ADDRESS",
                                                  "DBUS_SYSTEM_BUS_ADDRESS",
                                                  "XDG_RUNTIME_DIR",
                                                  "DISPLAY",
                                                  "WAYLAND_DISPLAY",
                                                  "XAUTHORITY",
                                                  "DOCKER_HOST",
                                                  "CONTAINER_HOST",
                                                  "KUBECONFIG",
                                                  "NOTIFY_SOCKET",
                                                  "LISTEN_FDS",
                                                  "LISTEN_PID",
                                                  "LISTEN_FDNAMES",
                                                  "PULSE_SERVER",
                                                  "TMUX",
                                                  "STY",
                                                  "VSCODE_IPC_HOOK_CLI"};
constexpr std::array<Word, 12> kSecretWords = {"KEY", "KEYS",  "AUTH", "PASS", "PWD",  "PAT",
                                               "JWT", "CREDS", "CRED", "PIN",  "SALT", "CERT"};
constexpr std::array<Word, 6> kSecretNames = {"GOOGLE_APPLICATION_CREDENTIALS",
                                              "PGPASSFILE",
                                              "BOTO_CONFIG",
                                              "GIT_ASKPASS",
                                              "SSH_ASKPASS",
                                              "SUDO_ASKPASS"};
constexpr std::array<Word, 13> kNeverSettable = {
    "LD_PRELOAD",     "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH",
    "PYTHONSTARTUP",  "NODE_OPTIONS",    "BASH_ENV", "ENV",
    "PROMPT_COMMAND", "CDPATH",          "PERL5LIB", "RUBYOPT",
    "GIT_SSH_COMMAND"};
constexpr std::array<Word, 11> kLoaderAndShellNames = {
    "PYTHONHOME", "PERL5OPT", "RUBYLIB", "GIT_SSH",        "GIT_EXEC_PATH", "SHELLOPTS",
    "BASHOPTS",   "IFS",      "PS4",     "GLIBC_TUNABLES", "MALLOC_TRACE"};

constexpr std::array<std::pair<const char*, const char*>, 10> kNonInteractive = {
    {{"CI", "1"},
     {"DEBIAN_FRONTEND", "noninteractive"},
     {"GIT_TERMINAL_PROMPT", "0"},
     {"PAGER", "cat"},
     {"GIT_PAGER", "cat"},
     {"EDITOR", "false"},
     {"VISUAL", "false"},
     {"GIT_EDITOR", "false"},
     {"NO_COLOR", "1"},
     {"PIP_NO_INPUT", "1"}}};

bool contains(std::span<const Word> words, const Word& wanted) {
  return std::any_of(words.begin(), words.end(), [&](const Word& word) {
    return word.letters == wanted.letters && word.text == wanted.text;
  });
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// strict: what a program needs to find its way, and nothing that says who asked for it.
bool is_safe_name(std::string_view name) {
  return contains(kSafeNames, Word(name)) || name.starts_with("LC_");
}

// Session handles of the host: sockets and buses that the sandbox must not be pointed at.
bool is_session_handle(const Word& name) { return contains(kSessionHandles, name); }

}  // namespace

bool is_sensitive_name(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(), upper);
  const Word whole{std::string_view(text)};
  if (is_session_handle(whole)) return true;
  static constexpr std::array<Word, 24> kAnywhere = {
      "TOKEN",       "SECRET",      "PASSWORD",     "PASSWD",
      "PASSPHRASE",  "CREDENTIAL",  "APIKEY",       "API_KEY",
      "ACCESS_KEY",  "PRIVATE_KEY", "SIGNING_KEY",  "ENCRYPTION_KEY",
      "COOKIE",      "BEARER",      "DATABASE_URL", "CONNECTION_STRING",
      "_DSN",        "MONGO_URI",   "REDIS_URL",    "AMQP_URL",
      "WEBHOOK_URL", "NETRC",       "SESSION_ID",   "OAUTH"};
  for (const Word& part : kAnywhere) {
    if ((part.letters & ~whole.letters) == 0 && text.find(part.text) != std::string::npos)
      return true;
  }
  // Short words only as whole words between underscores: AUTH in NPM_AUTH, not in AUTHOR.
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('_'), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (contains(kSecretWords, Word(word)) && text != "PWD" && text != "OLDPWD") {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text.starts_with("AWS_") || text.starts_with("AZURE_") || text.starts_with("VAULT_") ||
         contains(kSecretNames, whole);
}

bool is_never_settable(std::string_view name) {
  const Word whole(name);
  return contains(kNeverSettable, whole) ||
         // Kin of the list: the loader's other knobs, and functions exported by bash.
         name.starts_with("LD_") || name.starts_with("BASH_FUNC_") || name.starts_with("GCONV_") ||
         contains(kLoaderAndShellNames, whole);
}

namespace {

// `ending` in capitals; the name in either.
bool ends_in(std::string_view name, std::string_view ending) {
  return name.size() >= ending.size() && std::equal(ending.rbegin(), ending.rend(), name.rbegin(),
                                                    [](char a, char b) { return a == upper(b); });
}

// HTTPS_PROXY, http_proxy, npm_config_proxy.
bool is_proxy_name(std::string_view name) { return ends_in(name, "_PROXY"); }

// Whose value may be URLs with a password: of a proxy, GOPROXY, PIP_INDEX_URL, UV_INDEX.
bool is_url_name(std::string_view name) {
  return ends_in(name, "PROXY") || ends_in(name, "_URL") || ends_in(name, "INDEX");
}

// A credential's variable, its source, and what holds the same value.
void withhold(const Credential& credential, const Environment& inherited, Environment& out) {
  out.erase(credential.name);
  if (!credential.from.env) return;
  out.erase(*credential.from.env);
  const auto source = inherited.find(*credential.from.env);
  constexpr std::size_t kLeast = 8;  // a shorter one is a part of much
  if (source == inherited.end() || source->second.size() < kLeast) return;
  std::erase_if(out, [&](const auto& variable) {
    return variable.second.find(source->second) != std::string::npos;
  });
}

}  // namespace

Environment make_environment(const Policy& policy, const Environment& inherited,
                             std::string_view user, bool is_answered) {
  const EnvironmentProfile& rules = policy.run.environment;
  // Then the caller's proxy is for us to go through; from inside it cannot be reached.
  const bool has_upstream =
      !policy.sandbox.upstream_proxy.empty() && policy.sandbox.network.mode != NetworkMode::kOpen;
  Environment out;
  for (const auto& [name, value] : inherited) {
    if (rules.scrub != ScrubMode::kOff) {
      if (is_never_settable(name)) continue;
      if (rules.scrub == ScrubMode::kDefault && is_sensitive_name(name)) continue;
      if (rules.scrub == ScrubMode::kStrict && !is_safe_name(name)) continue;
      if (name.starts_with("SBX_")) continue;  // the operator's settings are not the command's
      if (has_upstream && is_proxy_name(name)) continue;
    }
    // Both are in order.
    const bool strips = rules.scrub != ScrubMode::kOff && is_url_name(name);
    out.emplace_hint(out.end(), name, strips ? without_users(value, is_proxy_name(name)) : value);
  }
  for (const std::string& name : rules.pass) {
    const auto found = inherited.find(name);
    if (found != inherited.end()) out[name] = found->second;
  }
  if (!out.contains("PATH")) out["PATH"] = kSystemPath;
  out.erase("OLDPWD");
  // Without them a program may wait for an answer that nobody gives. The caller's own stand.
  if (!is_answered) {
    for (const auto& [name, value] : kNonInteractive) out.try_emplace(name, value);
  }
  if (policy.sandbox.home.empty()) {
    out.erase("HOME");
  } else {
    out["HOME"] = policy.sandbox.home;
  }
  if (rules.scrub != ScrubMode::kOff) {
    out["TMPDIR"] = "/tmp";
    out["USER"] = user;
    out["LOGNAME"] = user;
    // Else bash asks for the account's at each start, by two questions to nscd. Where the host's
    // own accounts show, it is theirs to say.
    if (policy.sandbox.filesystem.base != Base::kHost) {
      const std::string& shell = policy.sandbox.commands.shell;
      out.try_emplace("SHELL", shell.starts_with('/') ? shell : "/bin/" + shell);
    }
  }
  for (const auto& [name, value] : rules.set) out[name] = value;
  for (const Credential& each : policy.run.withheld) withhold(each, inherited, out);
  if (policy.sandbox.http)
    add_trust(*policy.sandbox.http, policy.sandbox.filesystem.base != Base::kHost, out);
  return out;
}

}  // namespace sbx
