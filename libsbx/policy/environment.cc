// SPDX-License-Identifier: Apache-2.0
// The scrub modes as tables, and their order.
#include "policy/environment.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>

#include "base/ascii.h"
#include "base/secret_names.h"
#include "base/text.h"
#include "policy/git_setting.h"
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
  constexpr explicit Word(std::string_view word)
      : begin(word.data()),
        size(static_cast<std::uint32_t>(word.size())),
        letters(letters_of(word)) {}

  constexpr std::string_view text() const { return {begin, size}; }

  const char* begin;
  std::uint32_t size;  // a third less of the tables than a view's
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
constexpr std::array<Word, 14> kSecretWords = {"KEY",  "KEYS",  "AUTH", "PWD", "PAT",
                                               "JWT",  "CREDS", "CRED", "PIN", "SALT",
                                               "CERT", "PEM",   "TOTP", "MFA"};
constexpr std::array<Word, 10> kSecretNames = {"GOOGLE_APPLICATION_CREDENTIALS",
                                               "OTP",
                                               "IDENTITY_HEADER",
                                               "PGPASSFILE",
                                               "BOTO_CONFIG",
                                               "GIT_ASKPASS",
                                               "SSH_ASKPASS",
                                               "SUDO_ASKPASS",
                                               "BW_SESSION",
                                               "GIT_CONFIG_PARAMETERS"};
constexpr std::string_view kSecretBegins[] = {"AWS_", "AZURE_", "VAULT_", "OP_SESSION_"};
constexpr std::array<Word, 13> kNeverSettable = {
    "LD_PRELOAD",     "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH",
    "PYTHONSTARTUP",  "NODE_OPTIONS",    "BASH_ENV", "ENV",
    "PROMPT_COMMAND", "CDPATH",          "PERL5LIB", "RUBYOPT",
    "GIT_SSH_COMMAND"};
constexpr std::array<Word, 11> kLoaderAndShellNames = {
    "PYTHONHOME", "PERL5OPT", "RUBYLIB", "GIT_SSH",        "GIT_EXEC_PATH", "SHELLOPTS",
    "BASHOPTS",   "IFS",      "PS4",     "GLIBC_TUNABLES", "MALLOC_TRACE"};

// Where nobody answers. Those of one kind stand for one another: who has one of them has chosen.
struct Default {
  std::string_view name;
  std::string_view value;  // empty: it only counts
  int kind;
};

// git looks at it before it looks at the others, so that it leads to those of the command's own.
constexpr std::string_view kEditorOfGit =
    R"(f() { eval "${VISUAL:-${EDITOR:-false}} \"\$@\""; }; f)";

constexpr Default kNonInteractive[] = {{"CI", "1", 0},
                                       {"DEBIAN_FRONTEND", "noninteractive", 1},
                                       {"GIT_TERMINAL_PROMPT", "0", 2},
                                       {"NO_COLOR", "1", 3},
                                       {"PIP_NO_INPUT", "1", 4},
                                       {"PAGER", "cat", 5},
                                       {"GIT_PAGER", "cat", 5},
                                       {"EDITOR", "false", 6},
                                       {"VISUAL", "", 6},
                                       {"GIT_EDITOR", kEditorOfGit, 6}};

bool contains(std::span<const Word> words, const Word& wanted) {
  return std::any_of(words.begin(), words.end(), [&](const Word& word) {
    return word.letters == wanted.letters && word.text() == wanted.text();
  });
}

char upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

// strict: what a program needs to find its way, and nothing that says who asked for it.
bool is_safe_name(std::string_view name) {
  return contains(kSafeNames, Word(name)) || name.starts_with("LC_");
}

// Session handles of the host: sockets and buses that the sandbox must not be pointed at.
bool is_session_handle(const Word& name) { return contains(kSessionHandles, name); }

// git's settings from variables: NAME_COUNT says how many pairs of NAME_KEY_N and NAME_VALUE_N.
constexpr std::string_view kGitCount = "GIT_CONFIG_COUNT";
constexpr std::string_view kGitKey = "GIT_CONFIG_KEY_";
constexpr std::string_view kGitValue = "GIT_CONFIG_VALUE_";

bool is_git_setting(std::string_view name) {
  return name == kGitCount || name.starts_with(kGitKey) || name.starts_with(kGitValue);
}

}  // namespace

bool is_sensitive_name(std::string_view name) {
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(), upper);
  const Word whole{std::string_view(text)};
  if (is_session_handle(whole)) return true;
  if (is_git_setting(text)) return false;  // its own name says nothing; see share_git_settings()
  if (secret_name(text) != SecretName::kNone) return true;
  static constexpr std::array<Word, 26> kAnywhere = {
      "MONGODB_URI", "BROKER_URL",     "TOKEN",     "SECRET",   "PASSWORD",     "PASSWD",
      "PASSPHRASE",  "CREDENTIAL",     "APIKEY",    "API_KEY",  "ACCESS_KEY",   "PRIVATE_KEY",
      "SIGNING_KEY", "ENCRYPTION_KEY", "COOKIE",    "BEARER",   "DATABASE_URL", "CONNECTION_STRING",
      "_DSN",        "MONGO_URI",      "REDIS_URL", "AMQP_URL", "WEBHOOK",      "NETRC",
      "SESSION_ID",  "OAUTH"};
  for (const Word& part : kAnywhere) {
    if ((part.letters & ~whole.letters) == 0 && text.find(part.text()) != std::string::npos)
      return true;
  }
  // Short words only as whole words between underscores: AUTH in NPM_AUTH, not in AUTHOR.
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('_'), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (contains(kSecretWords, Word(word)) && text != "PWD" && text != "OLDPWD") return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return contains(kSecretNames, whole) ||
         std::any_of(std::begin(kSecretBegins), std::end(kSecretBegins),
                     [&](std::string_view begin) { return text.starts_with(begin); });
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

}  // namespace

bool is_proxy_name(std::string_view name) { return ends_in(name, "_PROXY"); }

namespace {

// GOPROXY, PIP_INDEX_URL, UV_INDEX hold nothing but URLs.
Urls urls_of(std::string_view name) {
  if (is_proxy_name(name)) return Urls::kOfProxy;
  const bool are_all = ends_in(name, "PROXY") || ends_in(name, "_URL") || ends_in(name, "INDEX");
  return are_all ? Urls::kAlone : Urls::kInText;
}

// A setting as git writes its name, section.subsection.key, where a command may have it.
bool is_shareable(std::string_view name, std::string_view value) {
  const std::size_t first = name.find('.');
  const std::size_t last = name.rfind('.');
  if (first == std::string_view::npos) return false;
  GitSetting setting{lower_case(name.substr(0, first)), "", lower_case(name.substr(last + 1)),
                     std::string(value)};
  if (last > first) setting.subsection = name.substr(first + 1, last - first - 1);
  return is_shareable(setting);
}

// They stand and fall in pairs, and are numbered anew: where the count promises one that is not
// there, git refuses every command.
void share_git_settings(const EnvironmentProfile& rules, const Environment& inherited,
                        Environment& out) {
  const auto is_passed = [&](const std::string& name) {
    return std::find(rules.pass.begin(), rules.pass.end(), name) != rules.pass.end();
  };
  const auto counted = inherited.find(kGitCount);
  const std::int64_t count =
      counted == inherited.end() ? 0 : parse_count(counted->second, INT32_MAX).value_or(0);
  std::int64_t shared = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    const auto key = inherited.find(std::string(kGitKey) + number);
    const auto value = inherited.find(std::string(kGitValue) + number);
    if (key == inherited.end() || value == inherited.end()) break;
    const bool is_taken = is_passed(key->first) && is_passed(value->first);
    if (!is_taken &&
        (rules.scrub != ScrubMode::kDefault || !is_shareable(key->second, value->second))) {
      continue;
    }
    const std::string place = std::to_string(shared++);
    out[std::string(kGitKey) + place] = key->second;
    out[std::string(kGitValue) + place] = value->second;
  }
  if (shared > 0) out[std::string(kGitCount)] = std::to_string(shared);
}

// Without them a program may wait for an answer that nobody gives.
void keep_from_asking(const std::map<std::string, std::string>& set, Environment& out) {
  unsigned chosen = 0;
  for (const Default& one : kNonInteractive) {
    const std::string name(one.name);
    if (out.contains(name) || set.contains(name)) chosen |= 1U << one.kind;
  }
  for (const Default& one : kNonInteractive) {
    const bool is_chosen = (chosen >> one.kind & 1U) != 0;
    if (!is_chosen && !one.value.empty()) out.emplace(one.name, one.value);
  }
}

}  // namespace

void drop_holders(std::string_view value, Environment& out) {
  constexpr std::size_t kLeast = 8;
  if (value.size() < kLeast) return;
  std::erase_if(
      out, [&](const auto& variable) { return variable.second.find(value) != std::string::npos; });
}

void withhold(const Credential& credential, const Environment& inherited, Environment& out) {
  out.erase(credential.name);
  if (!credential.from.env) return;
  out.erase(*credential.from.env);
  const auto source = inherited.find(*credential.from.env);
  if (source != inherited.end()) drop_holders(source->second, out);
}

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
      if (is_git_setting(name)) continue;
      if (has_upstream && is_proxy_name(name)) continue;
    }
    // Both are in order.
    out.emplace_hint(out.end(), name,
                     rules.scrub == ScrubMode::kOff ? value : without_users(value, urls_of(name)));
  }
  if (rules.scrub != ScrubMode::kOff) share_git_settings(rules, inherited, out);
  for (const std::string& name : rules.pass) {
    if (rules.scrub != ScrubMode::kOff && is_git_setting(name)) continue;
    const auto found = inherited.find(name);
    if (found != inherited.end()) out[name] = found->second;
  }
  if (!out.contains("PATH")) out["PATH"] = kSystemPath;
  out.erase("OLDPWD");
  if (!is_answered) keep_from_asking(rules.set, out);
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
  for (const std::string& value : policy.run.withheld_values) drop_holders(value, out);
  if (policy.sandbox.http)
    add_trust(*policy.sandbox.http, policy.sandbox.filesystem.base != Base::kHost, out);
  return out;
}

}  // namespace sbx
