// SPDX-License-Identifier: Apache-2.0
// As much of git's syntax as git-config(1) and gitformat-index(5) promise.
#include "host/git_files.h"

#include <algorithm>
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

std::uint32_t number(std::string_view bytes, std::size_t at, int size) {
  std::uint32_t out = 0;
  for (int i = 0; i < size; ++i) {
    out = out << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  }
  return out;
}

}  // namespace

GitConfigPaths read_git_config(std::string_view text) {
  GitConfigPaths out;
  std::string section;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (is_blank(c)) {
      ++at;
    } else if (c == '#' || c == ';') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '[') {
      const std::size_t end = text.find_first_of(" \t]\n.", at + 1);
      const std::size_t length = std::min(end, text.size()) - at - 1;
      section = lower(text.substr(at + 1, std::min(length, kLongestName)));
      bool is_quoted = false;  // a subsection may hold brackets
      for (++at; at < text.size() && text[at] != '\n' && (text[at] != ']' || is_quoted); ++at) {
        if (text[at] == '\\') {
          ++at;
        } else if (text[at] == '"') {
          is_quoted = !is_quoted;
        }
      }
      ++at;
    } else {
      const std::size_t end = std::min(text.find_first_of("= \t\r\n#;", at), text.size());
      const std::string name = section + "." + lower(text.substr(at, end - at));
      at = std::min(text.find_first_not_of(" \t\r", end), text.size());
      std::string value;
      if (at < text.size() && text[at] == '=') {
        ++at;
        value = read_value(text, at);
      } else {
        at = std::min(text.find('\n', at), text.size());
      }
      if (name == "include.path" || name == "includeif.path") out.includes.push_back(value);
      if (name == "core.hookspath") out.hooks_path = value;
      if (name == "core.worktree") out.work_tree = value;
      if (name == "extensions.objectformat") out.has_sha256 = lower(value) == "sha256";
    }
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
    const std::size_t stop = index.find('\0', at);
    if (stop == std::string_view::npos || stop >= end) return out;
    name += index.substr(at, stop - at);
    at = version == 4 ? stop + 1 : start + ((stop - start) / 8 + 1) * 8;
    // Nothing can be checked out at a longer one.
    if (mode != kGitlink || name.size() >= PATH_MAX) continue;
    if (name.empty() || out.paths.size() >= max) {
      out.is_whole = false;
    } else {
      out.paths.push_back(name);
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
