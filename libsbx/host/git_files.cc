// SPDX-License-Identifier: Apache-2.0
// As much of git's syntax as git-config(1) and gitformat-index(5) promise.
#include "host/git_files.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>

#include "base/hex.h"

namespace sbx {
namespace {

constexpr std::size_t kLongestName = 64;  // of a section; those that count are shorter

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// One value, from `at` to the end of its line: quotes, escapes, comments, continued lines.
std::string read_value(std::string_view text, std::size_t& at) {
  std::string out;
  std::size_t kept = 0;  // blanks at the end are none of it
  bool is_quoted = false;
  bool is_comment = false;
  for (; at < text.size() && (text[at] != '\n' || is_quoted); ++at) {
    const char c = text[at];
    if (c == '\n') break;
    if (is_comment) continue;
    if (c == '\\' && at + 1 < text.size()) {
      const char next = text[++at];
      if (next == '\r' && at + 1 < text.size() && text[at + 1] == '\n') ++at;
      if (next != '\n' && next != '\r') {
        out += next == 'n' ? '\n' : next == 't' ? '\t' : next == 'b' ? '\b' : next;
        kept = out.size();
      }
    } else if (c == '"') {
      is_quoted = !is_quoted;
      kept = out.size();
    } else if ((c == '#' || c == ';') && !is_quoted) {
      is_comment = true;
    } else if (!out.empty() || is_quoted || !is_blank(c)) {
      out += c;
      if (is_quoted || !is_blank(c)) kept = out.size();
    }
  }
  out.resize(kept);
  return out;
}

// "[name]" or "[name "sub"]", from `at` to behind it.
void read_section(std::string_view text, std::size_t& at, GitSetting& now) {
  const std::size_t end = text.find_first_of(" \t]\n.", at + 1);
  const std::size_t length = std::min(end, text.size()) - at - 1;
  now.section = lower(text.substr(at + 1, std::min(length, kLongestName)));
  now.subsection.clear();
  bool is_quoted = false;  // a subsection may hold brackets
  for (++at; at < text.size() && text[at] != '\n' && (text[at] != ']' || is_quoted); ++at) {
    if (text[at] == '\\') {
      if (++at < text.size() && is_quoted) now.subsection += text[at];
    } else if (text[at] == '"') {
      is_quoted = !is_quoted;
    } else if (is_quoted) {
      now.subsection += text[at];
    }
  }
  ++at;
}

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
                                                             "i18n.*",
                                                             "grep.*",
                                                             "format.pretty",
                                                             "pretty.*",
                                                             "alias.*",
                                                             "url.*.insteadof",
                                                             "url.*.pushinsteadof"});

bool is_shareable(const GitSetting& setting) {
  const bool is_sub = !setting.subsection.empty();
  const std::string start = setting.section + (is_sub ? ".*." : ".");
  const auto names = [&](std::string_view entry) {
    return entry == start + setting.key || entry == start + "*";
  };
  if (std::none_of(kShareable.begin(), kShareable.end(), names)) return false;
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (setting.key.empty() || !std::all_of(setting.key.begin(), setting.key.end(), is_word))
    return false;
  const std::string all = setting.subsection + "\n" + setting.value.value_or("");
  // A user and his password in a URL.
  const std::size_t scheme = all.find("://");
  if (scheme != std::string::npos && all.find('@', scheme) != std::string::npos) return false;
  if (all.find('\0') != std::string::npos || setting.subsection.find('\n') != std::string::npos) {
    return false;
  }
  return setting.section != "alias" || !setting.value.value_or("").starts_with('!');
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::uint32_t number(std::string_view bytes, std::size_t at, int size) {
  std::uint32_t out = 0;
  for (int i = 0; i < size; ++i) {
    out = out << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  }
  return out;
}

}  // namespace

std::vector<GitSetting> read_git_settings(std::string_view text) {
  std::vector<GitSetting> out;
  GitSetting now;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (is_blank(c)) {
      ++at;
    } else if (c == '#' || c == ';') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '[') {
      read_section(text, at, now);
    } else {
      const std::size_t end = std::min(text.find_first_of("= \t\r\n#;", at), text.size());
      now.key = lower(text.substr(at, end - at));
      now.value.reset();
      at = std::min(text.find_first_not_of(" \t\r", end), text.size());
      if (at < text.size() && text[at] == '=') {
        ++at;
        now.value = read_value(text, at);
      } else {
        at = std::min(text.find('\n', at), text.size());
      }
      out.push_back(now);
    }
  }
  return out;
}

GitConfigPaths read_git_config(std::string_view text) {
  GitConfigPaths out;
  for (const GitSetting& setting : read_git_settings(text)) {
    const std::string name = setting.section + "." + setting.key;
    const std::string value = setting.value.value_or("");
    if (name == "include.path" || name == "includeif.path") out.includes.push_back(value);
    if (name == "core.hookspath") out.hooks_path = value;
    if (name == "core.worktree") out.work_tree = value;
    if (name == "extensions.objectformat") out.has_sha256 = lower(value) == "sha256";
  }
  return out;
}

std::string shareable_git_config(std::string_view text) {
  std::string out;
  for (const GitSetting& setting : read_git_settings(text)) {
    if (!is_shareable(setting)) continue;
    out += "[" + setting.section;
    if (!setting.subsection.empty()) out += " " + in_quotes(setting.subsection);
    out += "]\n\t" + setting.key;
    if (setting.value) out += " = " + in_quotes(*setting.value);
    out += "\n";
  }
  return out;
}

Gitlinks read_gitlinks(std::string_view index, std::size_t id_bytes, std::size_t max) {
  static constexpr std::size_t kHeader = 12;
  static constexpr std::size_t kStat = 40;
  static constexpr std::uint32_t kGitlink = 0160000;
  Gitlinks out;
  if (index.size() < kHeader + id_bytes || !index.starts_with("DIRC")) return out;
  const std::uint32_t version = number(index, 4, 4);
  std::uint32_t left = number(index, 8, 4);
  const std::size_t end = index.size() - id_bytes;  // a checksum ends it
  std::size_t at = kHeader;
  std::string name;  // version 4 names what an entry shares with the one before
  for (; left > 0; --left) {
    const std::size_t start = at;
    if (at + kStat + id_bytes + 2 > end) return out;
    const std::uint32_t mode = number(index, at + 24, 4);
    const std::uint32_t flags = number(index, at + kStat + id_bytes, 2);
    at += kStat + id_bytes + 2 + ((flags & 0x4000U) != 0 && version >= 3 ? 2 : 0);
    if (version == 4) {
      std::size_t strip = 0;
      for (int i = 0;; ++i) {
        if (at >= end || i > 4) return out;
        const auto byte = static_cast<unsigned char>(index[at++]);
        strip = i == 0 ? byte & 127U : ((strip + 1) << 7) + (byte & 127U);
        if ((byte & 128U) == 0) break;
      }
      if (strip > name.size()) return out;
      name.resize(name.size() - strip);
    } else {
      name.clear();
    }
    // Where git goes on follows from the length that the entry says; a longer name ends at its NUL.
    static constexpr std::uint32_t kLongName = 0xfff;
    const std::size_t length = flags & kLongName;
    if (length < name.size()) return out;
    const std::size_t stop = length == kLongName ? index.find('\0', at) : at + length - name.size();
    if (stop == std::string_view::npos || stop >= end) return out;
    name += index.substr(at, stop - at);
    at = version == 4 ? stop + 1 : start + ((stop - start) / 8 + 1) * 8;
    if (mode != kGitlink) continue;
    // Nothing can be checked out at a longer one.
    const std::string_view begin = std::string_view(name).substr(0, PATH_MAX);
    const std::size_t nul = begin.find('\0');
    if (nul == std::string_view::npos && name.size() >= PATH_MAX) continue;
    const std::string path(begin.substr(0, nul));
    if (path.empty() || out.paths.size() >= max) {
      out.is_whole = false;
    } else {
      out.paths.push_back(path);
    }
  }
  while (at + 8 <= end) {
    const std::uint32_t size = number(index, at + 4, 4);
    if (index.substr(at, 4) == "link" && size >= id_bytes && at + 8 + size <= end) {
      out.shared = to_hex(index.substr(at + 8, id_bytes));
    }
    at += std::size_t{8} + size;
  }
  return out;
}

}  // namespace sbx
