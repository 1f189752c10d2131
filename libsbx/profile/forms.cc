// SPDX-License-Identifier: Apache-2.0
// Predicates and their patterns, side by side. tests/profile/schema_agrees.py compares the two.
#include "profile/forms.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/text.h"
#include "profile/host_rule.h"

// Pieces of patterns. END is the end of the text in every engine, ANY any character.
#define SBX_END R"((?![\s\S]))"
#define SBX_ANY R"([\s\S]*)"
#define SBX_NO_DOT_DOT "(?!" SBX_ANY R"((^|/)\.\.(/|)" SBX_END "))"
#define SBX_OCTET "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define SBX_IPV4 "(" SBX_OCTET R"(\.){3})" SBX_OCTET "(/(3[0-2]|[12]?[0-9]))?"
#define SBX_HEX "[0-9A-Fa-f]{1,4}"
#define SBX_IPV6                                                                                 \
  "((" SBX_HEX ":){7}" SBX_HEX "|(" SBX_HEX ":){1,7}:|(" SBX_HEX ":){1,6}:" SBX_HEX "|(" SBX_HEX \
  ":){1,5}(:" SBX_HEX "){1,2}|(" SBX_HEX ":){1,4}(:" SBX_HEX                                     \
  "){1,3}"                                                                                       \
  "|(" SBX_HEX ":){1,3}(:" SBX_HEX "){1,4}|(" SBX_HEX ":){1,2}(:" SBX_HEX                        \
  "){1,5}"                                                                                       \
  "|" SBX_HEX ":(:" SBX_HEX "){1,6}|:((:" SBX_HEX                                                \
  "){1,7}|:))"                                                                                   \
  "(/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?"
#define SBX_PORT                                                                 \
  "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|" \
  "6553[0-5])"
#define SBX_LABEL "[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
// The last label is not of digits only: that would be a mistyped address.
#define SBX_NAME R"((\*\.)?(?![^:]{254})()" SBX_LABEL R"(\.)*(?![0-9]+(:|)" SBX_END "))" SBX_LABEL

namespace sbx::forms {
namespace {

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

bool has_component(std::string_view path, std::string_view component) {
  const auto parts = split(path, '/');
  return std::find(parts.begin(), parts.end(), component) != parts.end();
}

bool is_label(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), is_control);
}

bool is_reference(std::string_view text) { return !text.empty() && !has_nul(text); }
bool is_no_nul(std::string_view text) { return !has_nul(text); }

bool is_absolute_path(std::string_view path) {
  return path.starts_with('/') && !has_nul(path) && !has_component(path, "..");
}

bool is_root_path(std::string_view path) {
  std::string_view rest = path;
  if (path.starts_with("${")) {
    const std::string_view name = path.substr(2, path.find('}') - 2);
    if (std::find(kVariables.begin(), kVariables.end(), name) == kVariables.end()) return false;
    if (path.size() < name.size() + 3) return false;  // no "}"
    rest = path.substr(name.size() + 3);
  }
  const bool at_boundary = rest.empty() ? rest.size() < path.size() : rest.front() == '/';
  return at_boundary && rest.find("${") == std::string_view::npos && !has_nul(path) &&
         !has_component(path, "..");
}

bool is_inner_path(std::string_view path) {
  return !path.empty() && path.front() != '/' && !has_nul(path) && !has_component(path, ".") &&
         !has_component(path, "..") && path.find("${") == std::string_view::npos;
}

bool is_home_path(std::string_view path) {
  return path.starts_with("~/") && is_inner_path(path.substr(2)) && !path.ends_with('/');
}

bool is_cache_name(std::string_view name) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

bool is_device_path(std::string_view path) {
  return path.starts_with("/dev/") && !has_nul(path) && !has_component(path.substr(5), "") &&
         !has_component(path, ".") && !has_component(path, "..");
}

bool is_host(std::string_view text) { return parse_host_rule(text).has_value(); }

bool is_lower_word(char c) { return is_lower(c) || is_digit(c) || c == '_'; }

bool is_syscall(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_lower_word);
}

bool is_env_name(std::string_view text) {
  return !text.empty() && (text.front() < '0' || text.front() > '9') &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_word(c) || is_upper(c); });
}

bool is_program(std::string_view text) {
  return !text.empty() &&
         std::none_of(text.begin(), text.end(), [](char c) { return is_control(c) || c == ' '; });
}

bool is_token(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || kMarks.find(c) != std::string_view::npos;
  });
}

// The gateway refuses both whatever rules there are. What is not in capitals would match no
// request.
bool is_method(std::string_view text) {
  return is_token(text) && text != "CONNECT" && text != "TRACE" &&
         std::none_of(text.begin(), text.end(), is_lower);
}

// Goes into a URL as it is.
bool is_query_name(std::string_view text) {
  return is_token(text) && text.find_first_of("#%&+") == std::string_view::npos;
}

// In the normal form of what is judged: no other ever matches.
bool is_path_pattern(std::string_view text) {
  const std::size_t last = text.rfind('/');
  return text.starts_with('/') && !has_component(text, ".") && !has_component(text, "..") &&
         text.substr(0, last + 1).find("//") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return c > ' ' && c <= '~' && c != '?' && c != '#' && c != '\\';
         });
}

// The variables in a text: each after `before`, `between` two of them, `last` before the last one.
using Joined = std::array<char, 256>;  // ends in NUL
constexpr Joined join(std::string_view start, std::string_view before, std::string_view after,
                      std::string_view between, std::string_view last, std::string_view end) {
  Joined out{};
  std::size_t size = 0;
  const auto append = [&](std::string_view text) {
    for (const char c : text) out.at(size++) = c;
  };
  append(start);
  for (std::size_t i = 0; i < kVariables.size(); ++i) {
    if (i > 0) append(i + 1 < kVariables.size() ? between : last);
    append(before);
    append(kVariables[i]);
    append(after);
  }
  append(end);
  out.at(size) = '\0';
  return out;
}
constexpr Joined kRootPattern =
    join("^" SBX_NO_DOT_DOT R"((\$\{()", "", "", "|", "|",
         R"()\}(?=/|)" SBX_END R"()|(?=/))(?!)" SBX_ANY R"(\$\{)[^\u0000]*)" SBX_END);
constexpr Joined kRootExpected =
    join("an absolute path, or one below ", "${", "}", ", ", " or ", ", without \"..\"");

}  // namespace

constexpr TextForm kLabel = {is_label, R"(^[^\u0000-\u001f\u007f]+)" SBX_END,
                             "text without control characters, not empty"};
constexpr TextForm kReference = {is_reference, R"(^[^\u0000]+)" SBX_END,
                                 "a profile's name or path"};
constexpr TextForm kNoNul = {is_no_nul, R"(^[^\u0000]*)" SBX_END, "text without NUL"};
constexpr TextForm kPattern = {is_reference, R"(^[^\u0000]+)" SBX_END,
                               "a regular expression, not empty"};
constexpr TextForm kRootPath = {is_root_path, kRootPattern.data(), kRootExpected.data()};
constexpr TextForm kInnerPath = {
    is_inner_path,
    "^(?!/)(?!" SBX_ANY R"((^|/)\.{1,2}(/|)" SBX_END "))(?!" SBX_ANY R"(\$\{)[^\u0000]+)" SBX_END,
    "a path relative to the root that holds it, such as .git/hooks, without \".\" or \"..\""};
constexpr TextForm kHomePath = {is_home_path,
                                "^~/(?!/)(?!" SBX_ANY R"((^|/)\.{1,2}(/|)" SBX_END "))(?!" SBX_ANY
                                R"(\$\{)(?!)" SBX_ANY "/" SBX_END R"()[^\u0000]+)" SBX_END,
                                "a path below the home, such as ~/.npm, without \".\" or \"..\""};
constexpr TextForm kCacheName = {is_cache_name, R"(^(?!\.)[A-Za-z0-9._-]{1,64})" SBX_END,
                                 "a name of up to 64 letters, digits, \".\", \"_\" and \"-\""};
constexpr TextForm kDevicePath = {is_device_path,
                                  R"(^/dev(/(?!\.{1,2}(/|)" SBX_END R"())[^/\u0000]+)+)" SBX_END,
                                  "the path of a device below /dev"};
constexpr TextForm kAbsolutePath = {is_absolute_path, "^" SBX_NO_DOT_DOT R"(/[^\u0000]*)" SBX_END,
                                    "an absolute path without \"..\""};
constexpr TextForm kHost = {
    is_host,
    "^((" SBX_NAME "|" SBX_IPV4 ")(:" SBX_PORT R"()?|\[)" SBX_IPV6 R"(\](:)" SBX_PORT ")?|" SBX_IPV6
    ")" SBX_END,
    "a host: NAME, *.NAME, an address or a network, each with or without :PORT, "
    "such as github.com:443, 10.1.0.0/16:5432 or [2001:db8::1]:443"};
constexpr TextForm kSyscall = {is_syscall, "^[a-z0-9_]+" SBX_END, "the name of a system call"};
constexpr TextForm kEnvName = {is_env_name, "^[A-Za-z_][A-Za-z0-9_]*" SBX_END,
                               "the name of an environment variable"};
constexpr TextForm kProgram = {is_program, R"(^[^\u0000-\u0020\u007f]+)" SBX_END,
                               "one word, the name or path of a program"};
constexpr TextForm kToken = {is_token, "^[!#$%&'*+.^_`|~0-9A-Za-z-]+" SBX_END,
                             "a name as HTTP has them: letters, digits, - and _"};
constexpr TextForm kMethod = {is_method,
                              "^(?!(CONNECT|TRACE)" SBX_END ")[!#$%&'*+.^_`|~0-9A-Z-]+" SBX_END,
                              "a method in capitals, such as GET, but neither CONNECT nor TRACE"};
constexpr TextForm kQueryName = {is_query_name, "^[!$'*.^_`|~0-9A-Za-z-]+" SBX_END,
                                 "the name of a query parameter: letters, digits, - and _"};
constexpr TextForm kPathPattern = {
    is_path_pattern,
    "^(?!" SBX_ANY R"(/(\.{0,2}/|\.{1,2})" SBX_END R"())/[!"$->@-\[\]-~]*)" SBX_END,
    "a path from /, of printable ASCII without ?, # and \\, and without //, . and ..: * is one "
    "segment, ** any number"};

}  // namespace sbx::forms
