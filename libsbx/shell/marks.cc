// SPDX-License-Identifier: Apache-2.0
// Marks: joining the values that a variable may have.
#include "shell/marks.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/text.h"

namespace sbx::shell {
namespace {

constexpr std::string_view kTmpPath = "/tmp";
constexpr char kEverything[] = {kStar, kDeep, kPicked, '/', '\0'};

// A path of plain names, `./` taken off; nullopt: no such thing. Nothing in it means more to a
// shell that reads it once more.
std::optional<std::string> plain_path(std::string_view text) {
  while (text.starts_with("./")) text.remove_prefix(2);
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  if (text.empty() || text.front() == '-' || text.front() == '~') return std::nullopt;
  if (text.find_first_of(" \t\n*?[\\$`(){}<>|&;'\"") != std::string_view::npos ||
      !is_bounded(text)) {
    return std::nullopt;
  }
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (is_place_mark(text[i])) return std::nullopt;
  }
  for (const std::string_view part : split(text, '/')) {
    std::string sure(part);
    std::erase(sure, kMaybe);
    const bool is_root = part.empty() && part.data() == text.data();
    if (!is_root && (sure.empty() || sure == "." || sure == "..")) return std::nullopt;
  }
  return std::string(text);
}

std::string hole() { return {kHole}; }

}  // namespace

bool has_mark(std::string_view text) { return std::any_of(text.begin(), text.end(), is_mark); }

bool may_be_text(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return is_mark(c) && c != kName && c != kMaybe; });
}

std::string without_marks(std::string_view given) {
  std::string out(given);
  std::replace_if(out.begin(), out.end(), is_mark, kHole);
  return out;
}

std::string as_script(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), kComponent, kHole);
  return out;
}

bool may_be_empty(std::string_view text) {
  return text.find_first_not_of(kMaybe) == std::string_view::npos;
}

std::string join_values(const std::vector<std::string>& items) {
  if (items.empty()) return hole();
  if (std::all_of(items.begin(), items.end(),
                  [&](const std::string& item) { return item == items.front(); })) {
    return items.front();
  }
  bool has_empty = false;
  bool has_tmp = false;
  std::vector<std::string> paths;
  for (std::string_view item : items) {
    if (item.ends_with('\n')) item.remove_suffix(1);
    if (may_be_empty(item)) {
      has_empty = true;
      continue;
    }
    auto path = plain_path(item);
    if (!path) return hole();
    has_tmp = has_tmp || path->front() == kTmp;
    paths.push_back(std::move(*path));
  }
  if (paths.empty()) return {kMaybe};
  for (std::string& path : paths) {
    const bool is_tmp =
        path == kTmpPath || (path.starts_with(kTmpPath) && path[kTmpPath.size()] == '/');
    if (has_tmp && is_tmp) path.replace(0, kTmpPath.size(), 1, kTmp);
  }
  // The directories that all share.
  std::vector<std::string_view> shared = split(paths.front(), '/');
  for (const std::string& path : paths) {
    const std::vector<std::string_view> parts = split(path, '/');
    std::size_t same = 0;
    while (same < shared.size() && same < parts.size() && shared[same] == parts[same]) ++same;
    shared.resize(same);
  }
  std::string directory;
  for (const std::string_view part : shared) {
    directory += part;
    directory += '/';
  }
  char rest = kChoice;
  for (const std::string& path : paths) {
    if (path.size() < directory.size()) {  // the directory itself
      if (std::any_of(paths.begin(), paths.end(),
                      [&](const std::string& other) { return other != path; })) {
        const std::size_t slash = directory.rfind('/', directory.size() - 2);
        if (slash == std::string::npos) return hole();
        directory.resize(slash + 1);
      } else {
        if (!has_empty) return path;
        const bool is_one = path.find_first_of(kEverything) == std::string::npos;
        return is_one && !is_place_mark(path[0]) ? std::string{kMaybe} : hole();
      }
    }
  }
  for (const std::string& path : paths) {
    const std::string_view part = std::string_view(path).substr(directory.size());
    if (!part.empty() && (part.front() == '/' || is_place_mark(part.front()))) return hole();
    // One that a pattern picks is a choice; whatever there is, is not.
    if (part.find_first_not_of(kEverything) != std::string_view::npos) continue;
    if (part.find(kPicked) != std::string_view::npos && rest == kChoice) rest = kPicked;
    if (part.find(kDeep) != std::string_view::npos && rest != kStar) rest = kDeep;
    if (part.find(kStar) != std::string_view::npos) rest = kStar;
  }
  if (!has_empty) return directory + rest;
  return directory.empty() && rest == kChoice ? std::string{kMaybe} : hole();
}

bool may_match_parent(std::string_view pattern) {
  const auto parts = split(pattern, '/');
  return std::any_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.starts_with('.') && part.find_first_of("*?[") != std::string_view::npos &&
           fnmatch(std::string(part).c_str(), "..", FNM_PERIOD) == 0;
  });
}

std::string pattern_value(std::string_view pattern) {
  if (may_match_parent(pattern)) return hole();
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '[') {
      const std::size_t end = pattern.find(']', i + 2);
      if (end == std::string_view::npos) return hole();
      i = end;
    }
    const bool picks = c == '*' || c == '?' || c == '[';
    if (!picks) {
      out += c;
    } else if (out.empty() || out.back() != kStar) {
      out += kStar;
    }
  }
  return out;
}

}  // namespace sbx::shell
