// SPDX-License-Identifier: Apache-2.0
// Judging an assignment: how strongly its name says that it holds a secret, and whether its value
// can be one. Ordinary logs are full of keys and tokens that are none.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "base/secret_names.h"
#include "base/text.h"
#include "output/assignment.h"

namespace sbx {
namespace {

enum class NameClass {
  kNone,
  kWeak,      // key, token: says little alone
  kStrong,    // api_key, ACCESS_TOKEN
  kPassword,  // password, secret, passphrase: whatever is assigned is one
};

constexpr std::string_view kPasswordWords[] = {
    "password", "passwd", "pwd",    "passphrase", "passwort", "secret",  "secrets",
    "psk",      "bindpw", "rootpw", "authpwd",    "userpwd",  "authtok", "passcode"};
// Short for password after one of kPassOwners, or in a variable's name.
constexpr std::string_view kPassWords[] = {"pass", "pw"};
constexpr std::string_view kPassOwners[] = {
    "db",    "user",  "smtp",  "mail", "email", "mysql",  "pg",    "postgres", "redis", "root",
    "admin", "login", "auth",  "ftp",  "ssh",   "http",   "proxy", "ldap",     "key",   "cert",
    "wifi",  "store", "mongo", "imap", "bind",  "cipher", "sudo",  "vnc",      "su",    "rpc"};
constexpr std::string_view kKeyWords[] = {"key", "token",      "apikey",      "authtoken",
                                          "jwt", "credential", "credentials", "pat"};
// Run-together names: mypassword, clientsecret, accesskey.
constexpr std::string_view kPasswordEndings[] = {"password", "passwd", "passphrase", "secret"};
constexpr std::string_view kStrongEndings[] = {
    "apikey",    "secretkey", "accesskey",   "privatekey",  "authkey",
    "authtoken", "apitoken",  "accesstoken", "bearertoken", "refreshtoken"};
// Words that make a key or token a credential.
constexpr std::string_view kCredentialWords[] = {
    "api",      "access",     "auth",     "authentication", "authorization",
    "secret",   "private",    "client",   "bearer",         "refresh",
    "session",  "encryption", "signing",  "master",         "deploy",
    "webhook",  "service",    "account",  "admin",          "bot",
    "personal", "app",        "id",       "oauth",          "oauth2",
    "sas",      "shared",     "security", "registry",       "publish",
    "npm",      "github",     "gitlab",   "slack",          "vault",
    "pat",      "login",      "encrypt",  "hmac",           "jwt"};
// Words after the secret word that name something about it.
constexpr std::string_view kAboutWords[] = {
    "file",   "files",   "path",      "dir",        "name",     "names",    "id",
    "ids",    "type",    "types",     "url",        "uri",      "endpoint", "host",
    "port",   "length",  "len",       "size",       "count",    "limit",    "ttl",
    "expiry", "expires", "expired",   "expiration", "age",      "at",       "in",
    "time",   "timeout", "created",   "updated",    "version",  "format",   "field",
    "column", "label",   "prefix",    "suffix",     "policy",   "policies", "rule",
    "rules",  "manager", "store",     "ring",       "chain",    "usage",    "algorithm",
    "alg",    "kind",    "status",    "state",      "enabled",  "required", "validity",
    "min",    "max",     "used",      "index",      "idx",      "map",      "mapping",
    "ref",    "refs",    "reference", "set",        "provider", "source",   "scope",
    "scopes", "arn",     "hint",      "help",       "prompt",   "pattern",  "regex",
    "class",  "mode",    "event",     "press",      "bits",     "space",    "fingerprint",
    "hash",   "digest",  "checksum",  "pair",       "server",   "issuer",   "error",
    "errors", "exists",  "c",         "h",          "cc",       "cpp",      "py",
    "js",     "ts",      "tsx",       "go",         "rs",       "java",     "kt",
    "rb",     "md",      "txt",       "patch",      "dpatch",   "diff",     "json",
    "yml",    "yaml",    "toml",      "sh",         "html",     "css",      "conf",
    "pem",    "crt",     "pub",       "xml",        "log"};
// Words before `key` or `token` that make it a public one, or something else altogether:
// "public_names" of the data file.
constexpr std::string_view kPublicNames[] = {
#include "redaction_names.inc"
};
// The same, for words that a space separates: `restored from key: x`.
constexpr std::string_view kPublicLeads[] = {"for", "from", "gpg"};
// Words that end in key, token or pat and say nothing of one.
constexpr std::string_view kNotKeyWords[] = {"monkey",  "turkey", "donkey", "hotkey", "whiskey",
                                             "jockey",  "hockey", "lackey", "mickey", "smokey",
                                             "detoken", "compat", "expat",  "betoken"};
// A call with such a name is given what names a secret, not the secret.
constexpr std::string_view kAskingVerbs[] = {
    "get",     "find",    "fetch",   "read",   "load",   "lookup", "resolve",  "has",
    "is",      "need",    "parse",   "by",     "del",    "delete", "remove",   "exists",
    "list",    "t",       "import",  "prompt", "ask",    "input",  "describe", "require",
    "request", "unset",   "print",   "show",   "choose", "expect", "assert",   "translate",
    "missing", "invalid", "unknown", "no",     "encode", "decode"};
// Values that stand for the absence of one, lower case.
constexpr std::string_view kNoValues[] = {
    "amd64",  "arm64",  "i386",      "armhf",  "all",   "x86_64", "true", "false", "null",
    "none",   "nil",    "undefined", "yes",    "no",    "string", "bool", "bytes", "redacted",
    "hidden", "masked", "number",    "object", "empty", "unset",  "n/a",  "str"};
// What prose says after `password:`, lower case.
constexpr std::string_view kProse[] = {
    "text",    "required", "optional", "missing",  "invalid", "unknown", "incorrect", "wrong",
    "correct", "expired",  "enabled",  "disabled", "default", "created", "deleted",   "updated",
    "changed", "rejected", "accepted", "denied",   "failed",  "failure", "valid",     "error",
    "found",   "not",      "prompt",   "file",     "inherit", "input",   "option",    "char",
    "any",     "symbol",   "must",     "should",   "cannot",  "using",   "for",       "verified",
    "loaded",  "stored",   "rotated"};

template <typename List>
bool contains(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

template <typename List>
bool ends_in_one_of(const List& list, std::string_view word) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](std::string_view ending) { return word.ends_with(ending); });
}

// "dbApiKey_v2" → db, api, key, v2.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool separator = !is_upper(c) && !is_lower(c) && !is_digit(c);
    const bool hump = is_upper(c) && i > 0 &&
                      (is_lower(name[i - 1]) ||
                       (is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1])));
    if ((separator || hump) && !words.back().empty()) words.emplace_back();
    if (!separator) words.back() += is_upper(c) ? static_cast<char>(c | 0x20) : c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// dbpass, rootpass
bool is_owned_pass(std::string_view word) {
  constexpr std::string_view kPass = "pass";
  return word != "sshpass" && word.ends_with(kPass) &&
         contains(kPassOwners, word.substr(0, word.size() - kPass.size()));
}

bool is_password_word(const std::string& word) {
  return contains(kPasswordWords, word) || ends_in_one_of(kPasswordEndings, word) ||
         is_owned_pass(word);
}
bool is_public_word(std::string_view word) { return contains(kPublicNames, word); }

// key, token, pat, and what is run together with one: stripekey, bottoken.
bool is_key_word(const std::string& word) {
  if (contains(kKeyWords, word) || ends_in_one_of(kStrongEndings, word)) return true;
  for (const std::string_view ending : {"key", "token"}) {
    if (!word.ends_with(ending)) continue;
    const std::string_view first = std::string_view(word).substr(0, word.size() - ending.size());
    return first.size() > 1 && !is_public_word(first) && !contains(kNotKeyWords, word);
  }
  return false;
}

bool says_secret(const std::string& word) { return is_password_word(word) || is_key_word(word); }

// The place of the last word that says secret, or words.size().
std::size_t secret_word(const std::vector<std::string>& words, bool may_be_pass) {
  for (std::size_t i = words.size(); i-- > 0;) {
    if (says_secret(words[i])) return i;
    if (contains(kPassWords, words[i]) &&
        (may_be_pass || (i > 0 && contains(kPassOwners, words[i - 1])))) {
      return i;
    }
  }
  return words.size();
}

bool all_of(std::string_view text, bool (*test)(char)) {
  return std::all_of(text.begin(), text.end(), test);
}
bool is_identifier_char(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

constexpr std::size_t kLongWord = 16;

bool is_mixed_case(std::string_view value) {
  return std::adjacent_find(value.begin(), value.end(), [](char a, char b) {
           return is_lower(a) && is_upper(b);
         }) != value.end();
}

// A word, an abbreviation or camelCase, with perhaps a short number behind it.
bool is_word(std::string_view part) {
  const std::size_t letters = part.find_last_not_of("0123456789") + 1;
  if (part.size() - letters > 4 && letters > 0) return false;
  std::size_t humps = 0;
  for (std::size_t i = 0; i < letters; ++i) {
    if (!is_letter(part[i])) return false;
    if (i > 0 && is_upper(part[i]) && is_lower(part[i - 1])) ++humps;
    // XMLHttpRequest: the end of capitals, which long text at random has everywhere.
    const bool capitals_end =
        i > 1 && is_lower(part[i]) && is_upper(part[i - 1]) && is_upper(part[i - 2]);
    if (capitals_end && letters >= kLongWord) ++humps;
  }
  return humps * 5 <= part.size();
}

// Calls `test` with each of the parts that - _ . : / @ separate, until one passes.
template <typename Test>
bool any_part(std::string_view value, Test test) {
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of("-_.:/@"), value.size());
    if (test(value.substr(0, end))) return true;
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return false;
}

// abc-def_ghi.js
bool is_joined_words(std::string_view value) {
  return !any_part(value, [](std::string_view part) { return !is_word(part); });
}

// In quotes, and no word: `backend_pass = "a1b2c3"`, where "pass" alone could be anything.
bool is_random_text(const NamedValue& assignment) {
  const std::string_view value = assignment.value;
  return assignment.quoted && value.size() >= 6 && value.find(' ') == std::string_view::npos &&
         std::any_of(value.begin(), value.end(), is_digit) && !is_joined_words(value);
}

// How often a letter and a digit stand side by side.
std::size_t changes_of_kind(std::string_view value) {
  std::size_t changes = 0;
  for (std::size_t i = 1; i < value.size(); ++i) {
    changes += (is_digit(value[i]) && is_letter(value[i - 1])) ||
                       (is_letter(value[i]) && is_digit(value[i - 1]))
                   ? 1
                   : 0;
  }
  return changes;
}

// What a name that ends in `pass` is given where a count, a result or a word does not do.
bool is_pass_value(const NamedValue& assignment, const std::vector<std::string>& words) {
  const std::string_view value = assignment.value;
  if (value.find_first_of(" :()") != std::string_view::npos) return false;
  if (assignment.flag) return words.size() == 1 && value != "stdin";
  const bool has_digit = std::any_of(value.begin(), value.end(), is_digit);
  if (value.size() < 8 || value.starts_with("0x")) return false;
  if (assignment.quoted || assignment.env_style) {
    return is_joined_words(value) ? has_digit && all_of(value, is_identifier_char)
                                  : is_mixed_case(value);
  }
  return !is_joined_words(value) && has_digit &&
         (is_mixed_case(value) || changes_of_kind(value) > 2);
}

bool asks_for(const std::vector<std::string>& words) {
  return words.size() > 1 && (contains(kAskingVerbs, words.front()) || contains(words, "by"));
}

// Git's signingkey, and the fingerprint or id of a key as gpg shows it, which are public.
bool is_signers_fingerprint(const std::vector<std::string>& words, std::size_t at,
                            std::string_view value) {
  const bool signing =
      words[at] == "signingkey" || (words[at] == "key" && at > 0 && words[at - 1] == "signing");
  return signing && (value.size() == 40 || value.size() == 16) &&
         all_of(value, [](char c) { return is_hex_digit(c) && !is_lower(c); });
}

// SSHPASS, LOGIN_OTP: in capitals alone, since `sshpass=1.09` is a package; and authorization.
NameClass short_class(const NamedValue& assignment, const std::vector<std::string>& words) {
  const std::string_view name = assignment.name;
  if (words.empty() || words.back() == "pass" || contains(kAboutWords, words.back()))
    return NameClass::kNone;
  if (std::any_of(name.begin(), name.end(), is_lower)) {
    return words.back() == "authorization" && !is_joined_words(assignment.value)
               ? NameClass::kStrong
               : NameClass::kNone;
  }
  switch (secret_name(name)) {
    case SecretName::kPassword:
      return NameClass::kPassword;
    case SecretName::kKey:  // AUTHORIZATION=disabled, ERLANG_OTP=26.2.1
      return is_joined_words(assignment.value) && !is_mixed_case(assignment.value)
                 ? NameClass::kNone
                 : NameClass::kStrong;
    case SecretName::kNone:
      break;
  }
  return NameClass::kNone;
}

NameClass classify(const NamedValue& assignment) {
  const std::vector<std::string> words = words_of(assignment.name);
  const bool variable = (assignment.env_style || assignment.own_word || assignment.argument) &&
                        std::none_of(assignment.name.begin(), assignment.name.end(), is_lower);
  const bool pass_value =
      !words.empty() && contains(kPassWords, words.back()) && is_pass_value(assignment, words);
  const std::size_t at = secret_word(words, variable || is_random_text(assignment) || pass_value);
  if (at == words.size()) return short_class(assignment, words);
  if (assignment.argument && asks_for(words)) return NameClass::kNone;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    if (contains(kAboutWords, words[i])) return NameClass::kNone;
  }
  if (is_password_word(words[at]) || contains(kPassWords, words[at])) return NameClass::kPassword;
  for (std::size_t i = 0; i < at; ++i) {
    if (is_password_word(words[i])) return NameClass::kPassword;  // secret_key
  }
  if (at > 0 && is_public_word(words[at - 1])) return NameClass::kNone;
  if (at == 0) {
    const std::string lead = lower_case(assignment.lead);
    if (is_public_word(lead) || contains(kPublicLeads, lead)) return NameClass::kNone;
  }
  if (words[at] == "pat" && at + 1 < words.size()) return NameClass::kNone;
  if (!variable && is_signers_fingerprint(words, at, assignment.value)) return NameClass::kNone;
  if (ends_in_one_of(kStrongEndings, words[at])) return NameClass::kStrong;
  for (std::size_t i = 0; i < at; ++i) {
    if (contains(kCredentialWords, words[i])) return NameClass::kStrong;
  }
  // `Secret Access Key: x`, `API token: x`
  if (at == 0 && contains(kCredentialWords, lower_case(assignment.lead))) {
    return NameClass::kStrong;
  }
  const bool token = words[at].ends_with("token") && (assignment.flag || assignment.own_word);
  return variable || token ? NameClass::kStrong : NameClass::kWeak;
}

// Whether a part is long, and neither a word nor hexadecimal.
bool has_random_part(std::string_view value) {
  return any_part(value, [](std::string_view part) {
    return part.size() >= 12 && !all_of(part, is_hex_digit) && !is_word(part) &&
           entropy_of(part) >= 3.0;
  });
}

// A hash, a UUID (with a plan's mark behind it): what a service gives out as a key as often as
// anything else.
bool is_hex_or_uuid(std::string_view value) {
  if (value.ends_with(":fx")) value.remove_suffix(3);
  constexpr std::size_t kUuid = 36;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool dash = value.size() == kUuid && (i == 8 || i == 13 || i == 18 || i == 23);
    if (dash ? value[i] != '-' : !is_hex_digit(value[i])) return false;
    digits += is_digit(value[i]) ? 1 : 0;
  }
  return digits > 0 && digits < value.size() && value.size() >= 20 && entropy_of(value) >= 2.5;
}

// name(…), name[…], name(…).other. A password that holds a bracket goes on behind it, or never
// closes it.
bool is_call(const NamedValue& assignment, bool literal) {
  const std::string_view value = assignment.value;
  const std::size_t open = value.find_first_of("([");
  if (open == std::string_view::npos || open == 0) return false;
  const std::size_t close = value.find_last_of(")]");
  if (literal && close + 1 != value.size()) return false;
  if (assignment.tight && !assignment.in_code && names_password(assignment.name)) {
    const char inner = open + 1 < value.size() ? value[open + 1] : '"';
    const bool closed = close != std::string_view::npos && close > open;
    if (!closed && inner != '"' && inner != '\'') return false;
    if (closed && close + 1 < value.size() && is_identifier_char(value[close + 1])) return false;
  }
  return std::all_of(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(open), [](char c) {
    return is_identifier_char(c) || std::string_view(".:#+!").find(c) < 5;
  });
}

// $NAME, ${…}, $(…), %NAME%, {{…}}, <…>, call(…), a.b.c: what stands for a value elsewhere.
bool is_reference(const NamedValue& assignment) {
  const std::string_view value = assignment.value;
  const bool literal =
      assignment.quoted || (assignment.env_style &&
                            std::none_of(assignment.name.begin(), assignment.name.end(), is_lower));
  if (assignment.backquoted && value.find("${") != std::string_view::npos) return true;
  if (value.starts_with("%s") || (!literal && value.front() == ':')) return true;
  if (value.starts_with("${") || value.starts_with("$(") || value.starts_with("{{") ||
      value.starts_with("<%") || value.starts_with("%(") || value.starts_with("#{")) {
    return true;
  }
  const std::size_t bracket = std::string_view("<{[(").find(value.front());
  if (bracket < 4) return !literal || value.back() == ">}])"[bracket];
  if (value.front() == '$' && value.size() > 1 && !is_digit(value[1]) &&
      all_of(value.substr(1), is_identifier_char)) {
    return true;
  }
  if (value.front() == '%' && (value.back() == '%' || value.size() == 2)) return true;
  if (!literal && (value.front() == '&' || value.front() == '*' || value.front() == '@')) {
    return all_of(value.substr(1), is_identifier_char);
  }
  if (is_call(assignment, literal)) return true;
  // In code that fills in a connection string: f"…;Pwd={password};"
  if (assignment.braced) {
    return (!assignment.listed || names_password(value)) &&
           std::none_of(value.begin(), value.end(), is_digit) && is_joined_words(value);
  }
  // Password=one.two; is a connection string's.
  if (assignment.tight && !assignment.in_code && names_password(assignment.name)) return false;
  const std::size_t dot = value.find('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < value.size() &&
         std::none_of(value.begin(), value.end(), is_digit) && is_joined_words(value) &&
         value.find_first_of("-/:@") == std::string_view::npos;
}

// A password may hold `://`: a URL has a scheme before it, and words, a host or a path behind it.
bool is_url(std::string_view value, bool password) {
  const std::size_t at = value.find("://");
  if (at == std::string_view::npos || !password) return at != std::string_view::npos;
  const std::string_view rest = value.substr(at + 3);
  return all_of(value.substr(0, at),
                [](char c) {
                  return is_lower(c) || is_digit(c) || std::string_view("+.-").find(c) < 3;
                }) &&
         (rest.find_first_of("/.:@") != std::string_view::npos || is_joined_words(rest));
}

bool is_path_or_url(const NamedValue& assignment) {
  const std::string_view value = assignment.value;
  if (is_url(value, names_password(assignment.name))) return true;
  const std::string_view from_slash = value.substr(
      value.find_first_not_of("~.") < value.size() ? value.find_first_not_of("~.") : value.size());
  return from_slash.starts_with('/') && from_slash.find('/', 1) != std::string_view::npos &&
         from_slash.find_first_of("+=") == std::string_view::npos;
}

// ****, xxxx, ":****"
bool is_mask(std::string_view value) {
  const auto stars = std::count(value.begin(), value.end(), '*');
  const bool one = value.size() == 1 && is_identifier_char(value.front());
  return (!one && value.find_first_not_of(value.front()) == std::string_view::npos) ||
         static_cast<std::size_t>(stars) * 2 > value.size();
}

// challengePassword, _RSAPrivateKey, key_password: what code calls a secret, not what one is.
bool is_secrets_name(const NamedValue& assignment) {
  const std::string_view value = assignment.value;
  if (assignment.env_style ||
      !all_of(value, [](char c) { return is_identifier_char(c) || c == '.'; })) {
    return false;
  }
  const std::vector<std::string> words = words_of(value);
  const bool says = std::any_of(words.begin(), words.end(), says_secret);
  if (!assignment.quoted) {
    return says && (words.size() > 1 || assignment.spaced) && !has_random_part(value);
  }
  return says && words.size() > 1 && value.find('_', 1) == std::string_view::npos &&
         is_joined_words(value);
}

// self.x = x, this.x = y
bool is_member_copy(const NamedValue& assignment) {
  return !assignment.quoted && assignment.spaced &&
         (assignment.name.starts_with("self.") || assignment.name.starts_with("this.")) &&
         all_of(assignment.value, [](char c) { return is_letter(c) || c == '_' || c == '.'; });
}

// your_api_key_here, REPLACE_ME
bool is_to_be_filled_in(std::string_view value) {
  constexpr std::string_view kFirst[] = {"your", "replace", "insert", "placeholder", "todo"};
  if (!all_of(value, [](char c) { return is_letter(c) || c == '_' || c == '-' || c == '.'; })) {
    return false;
  }
  const std::vector<std::string> words = words_of(value);
  return words.size() > 1 && contains(kFirst, words.front()) && is_joined_words(value);
}

bool is_nothing(const NamedValue& assignment) {
  const std::string_view value = assignment.value;
  if (value.empty() || value.starts_with("[REDACTED]") || is_mask(value)) return true;
  if (value.find("...") != std::string_view::npos || value.starts_with("xxx")) return true;
  const std::string word = lower_case(value.substr(0, value.find_last_not_of(".!?:") + 1));
  if (contains(kNoValues, word) || word == lower_case(assignment.name)) return true;
  if (!assignment.quoted && !assignment.env_style && !assignment.listed && contains(kProse, word))
    return true;
  return is_reference(assignment) || is_path_or_url(assignment) || is_secrets_name(assignment) ||
         is_to_be_filled_in(value) || is_member_copy(assignment);
}

// The argument of a call may be anything's name: it has to look like no word.
bool argument_may_be(const NamedValue& assignment, bool password) {
  const std::string_view value = assignment.value;
  const std::vector<std::string> words = words_of(assignment.name);
  const bool given = contains(words, "set") || contains(words, "with") ||
                     std::none_of(assignment.name.begin(), assignment.name.end(), is_lower);
  if (value.size() < (given ? 4 : 6) || value.find(' ') != std::string_view::npos) return false;
  if (!is_joined_words(value)) return true;
  if (!password) return false;
  const bool has_digit = std::any_of(value.begin(), value.end(), is_digit);
  const bool one_word = value.find_first_of("-_.:/@") == std::string_view::npos;
  return assignment.quoted ? given || (has_digit && one_word)
                           : has_digit && one_word && value.size() >= 8;
}

bool password_may_be(const NamedValue& assignment) {
  const std::string_view value = assignment.value;
  if (assignment.listed && !assignment.in_code) return true;
  if (value.size() < (assignment.env_style ? 3 : 4)) return false;
  if (assignment.argument) return argument_may_be(assignment, true);
  if (assignment.quoted || assignment.env_style)
    return value.find(' ') == std::string_view::npos || assignment.env_style || value.size() >= 8;
  if (!std::all_of(value.begin(), value.end(), [](char c) { return is_letter(c) || c == '_'; })) {
    return !(assignment.in_code && is_joined_words(value));
  }
  // A word without quotes: prose and code say such things, though hardly in mixed case.
  if (assignment.flag && is_mixed_case(value)) return true;
  return !assignment.in_code && value.size() >= 6 && (assignment.whole_line || assignment.tight);
}

}  // namespace

double entropy_of(std::string_view text) {
  std::array<unsigned, 256> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  double bits = 0;
  for (const unsigned count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(text.size());
    bits -= share * std::log2(share);
  }
  return bits;
}

bool names_something_else(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  return !words.empty() && contains(kAboutWords, words.back());
}

bool names_password(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  return !words.empty() && (is_password_word(words.back()) || contains(kPassWords, words.back()));
}

bool holds_secret(const NamedValue& assignment) {
  const NameClass name = classify(assignment);
  if (name == NameClass::kNone || is_nothing(assignment)) return false;
  const std::string_view value = assignment.value;
  if (name == NameClass::kPassword) return password_may_be(assignment);
  const bool strong = name == NameClass::kStrong;
  if (value.size() < 8 ||
      (all_of(value, is_digit) && !(strong && assignment.whole_line && assignment.tight)))
    return false;
  if (value.find(' ') != std::string_view::npos && !assignment.env_style) return false;
  if (strong) {
    // NAME=value behind a blank: what a command or a listing gives a variable.
    const bool variable = assignment.env_style ||
                          (assignment.own_word &&
                           std::none_of(assignment.name.begin(), assignment.name.end(), is_lower));
    const bool bare_word = !assignment.quoted && !variable && is_joined_words(value) &&
                           !(assignment.flag && is_mixed_case(value));
    if (assignment.argument) return argument_may_be(assignment, false);
    return !bare_word || (assignment.whole_line && !all_of(value, is_letter));
  }
  return value.size() >= 16 && (has_random_part(value) || is_hex_or_uuid(value));
}

}  // namespace sbx
