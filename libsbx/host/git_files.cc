// SPDX-License-Identifier: Apache-2.0
// As much of git's syntax as git-config(1) and gitformat-index(5) promise.
#include "host/git_files.h"

#include <algorithm>
#include <climits>
#include <cstdint>

#include "base/hex.h"
#include "base/text.h"

namespace sbx {
namespace {

constexpr std::size_t kLongestName = 64;  // of a section; those that count are shorter

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
  now.section = lower_case(text.substr(at + 1, std::min(length, kLongestName)));
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
      now.key = lower_case(text.substr(at, end - at));
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
    if (name == "extensions.worktreeconfig") out.has_worktree_settings = true;
    if (name == "extensions.objectformat") out.has_sha256 = lower_case(value) == "sha256";
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
