// SPDX-License-Identifier: Apache-2.0
// The list of what may be shared, and what of that may not.
#include "policy/git_setting.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr auto kSecretWords = std::to_array<std::string_view>(
    {"token", "secret", "password", "passwd", "key=", "apikey", "api_key", "api-key", "private key",
     "authorization", "bearer ", "basic ", "glpat-", "ghp_", "gho_", "ghs_", "github_pat_", "akia",
     "xox"});

// As far as they may be shortened.
constexpr auto kRunningOptions =
    std::to_array<std::string_view>({"--conf", "--exe", "--ext", "--upl", "--rece", "--open"});

// "*" stands for a subsection, or for any key.
constexpr auto kShareable = std::to_array<std::string_view>({"user.name",
                                                             "user.email",
                                                             "user.useconfigonly",
                                                             "author.name",
                                                             "author.email",
                                                             "committer.name",
                                                             "committer.email",
                                                             "init.defaultbranch",
                                                             "core.autocrlf",
                                                             "core.eol",
                                                             "core.safecrlf",
                                                             "core.whitespace",
                                                             "core.abbrev",
                                                             "core.quotepath",
                                                             "core.commentchar",
                                                             "core.precomposeunicode",
                                                             "commit.verbose",
                                                             "commit.cleanup",
                                                             "commit.status",
                                                             "push.default",
                                                             "push.followtags",
                                                             "push.autosetupremote",
                                                             "pull.rebase",
                                                             "pull.ff",
                                                             "fetch.prune",
                                                             "fetch.prunetags",
                                                             "fetch.parallel",
                                                             "merge.ff",
                                                             "merge.conflictstyle",
                                                             "merge.log",
                                                             "merge.renames",
                                                             "merge.stat",
                                                             "merge.autostash",
                                                             "rebase.autosquash",
                                                             "rebase.autostash",
                                                             "rebase.updaterefs",
                                                             "rebase.missingcommitscheck",
                                                             "diff.algorithm",
                                                             "diff.renames",
                                                             "diff.renamelimit",
                                                             "diff.colormoved",
                                                             "diff.colormovedws",
                                                             "diff.mnemonicprefix",
                                                             "diff.noprefix",
                                                             "diff.context",
                                                             "diff.interhunkcontext",
                                                             "diff.indentheuristic",
                                                             "diff.wserrorhighlight",
                                                             "diff.submodule",
                                                             "status.*",
                                                             "log.date",
                                                             "log.decorate",
                                                             "log.follow",
                                                             "log.abbrevcommit",
                                                             "log.mailmap",
                                                             "branch.autosetupmerge",
                                                             "branch.autosetuprebase",
                                                             "branch.sort",
                                                             "tag.sort",
                                                             "column.*",
                                                             "color.*",
                                                             "color.*.*",
                                                             "advice.*",
                                                             "help.autocorrect",
                                                             "rerere.enabled",
                                                             "rerere.autoupdate",
                                                             "submodule.recurse",
                                                             "safe.directory",
                                                             "i18n.*",
                                                             "grep.*",
                                                             "format.pretty",
                                                             "pretty.*",
                                                             "alias.*",
                                                             "url.*.insteadof",
                                                             "url.*.pushinsteadof"});

// Whose values are names of people.
constexpr std::string_view kIdentities = "user author committer";

// A user and a password, or a query, in a URL; and what names a secret or begins like one.
bool may_hold_secret(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme != text.npos && text.find_first_of("@?", scheme) != text.npos) return true;
  const std::string low = lower_case(text);
  const auto is_held = [&](std::string_view word) { return low.find(word) != std::string::npos; };
  return std::any_of(kSecretWords.begin(), kSecretWords.end(), is_held);
}

// An alias that takes settings along, or has git run what it says: `-ix` is `-i -x`.
bool may_run_program(std::string_view alias) {
  if (alias.find('!') != alias.npos) return true;
  for (std::size_t at = 0; at < alias.size();) {
    const std::size_t end = std::min(alias.find_first_of(" \t\r\n", at), alias.size());
    std::string word(alias.substr(at, end - at));
    at = end + 1;
    std::erase_if(word, [](char c) { return c == '"' || c == '\'' || c == '\\'; });
    const auto begins = [&](std::string_view option) { return word.starts_with(option); };
    const bool is_short = begins("-") && !begins("--");
    if (word == "run" || word == "foreach" || begins("-c") || word == "--ex" ||
        (is_short && word.find('x') != word.npos) ||
        std::any_of(kRunningOptions.begin(), kRunningOptions.end(), begins)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_shareable(const GitSetting& setting) {
  const bool is_sub = !setting.subsection.empty();
  const std::string start = setting.section + (is_sub ? ".*." : ".");
  const auto names = [&](std::string_view entry) {
    return entry == start + setting.key || entry == start + "*";
  };
  if (std::none_of(kShareable.begin(), kShareable.end(), names)) return false;
  const auto is_word = [](char c) { return is_lower(c) || is_digit(c) || c == '-'; };
  if (setting.key.empty() || !std::all_of(setting.key.begin(), setting.key.end(), is_word))
    return false;
  const std::string value = setting.value.value_or("");
  if ((setting.subsection + value).find('\0') != std::string::npos ||
      setting.subsection.find('\n') != std::string::npos) {
    return false;
  }
  const bool is_identity = kIdentities.find(setting.section) != std::string_view::npos;
  return (is_identity || (!may_hold_secret(setting.subsection) && !may_hold_secret(value))) &&
         (setting.section != "alias" || !may_run_program(value));
}

}  // namespace sbx
